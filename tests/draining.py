"""The loop that delivers, run beside a test as in a process of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from events import outbox
from merchants.models import Merchant
from tests import receivers
from tests.factories import EndpointFactory
from tests.receivers import Receiver
from webhooks.drain import Drain
from webhooks.models import Delivery, Endpoint

PATIENCE_SECONDS = 10


@contextmanager
def draining(**options: Any) -> Iterator[Drain]:
    """A drain that runs beside the test, as it does in a process of its own."""
    drain = Drain(**options)
    thread = threading.Thread(target=drain.run, kwargs={"seconds": None})
    thread.start()
    try:
        yield drain
    finally:
        drain.stop()
        thread.join(PATIENCE_SECONDS)
        drain.close()
        assert not thread.is_alive()


def run_until(is_so: Callable[[], Any]) -> None:
    with draining():
        until(is_so)


def until(is_so: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> float:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it took too long"
        time.sleep(0.01)
    return time.monotonic() - began


def endpoint_at(theirs: Receiver, settings: Any, **facts: Any) -> Endpoint:
    settings.WEBHOOK_DEV_HOSTS = [*settings.WEBHOOK_DEV_HOSTS, theirs.host]
    return EndpointFactory(url=theirs.url, **facts)


def tell(merchant: Merchant, object_id: str = "cus_1") -> str:
    with transaction.atomic():
        event = outbox.record(merchant, "customer.updated", {"id": object_id, "object": "customer"})
    return event.id


def received(theirs: Receiver) -> list[str]:
    return [request.headers["pf-event-id"] for request in theirs.requests]


def statuses() -> list[tuple[int, str, str | None]]:
    rows = Delivery.objects.order_by("sequence", "attempt")
    return [(row.attempt, row.status, row.error) for row in rows]


def slowly(seconds: float) -> Callable[[Any], None]:
    def answer(wire: Any) -> None:
        time.sleep(seconds)
        wire.sendall(receivers.OK)

    return answer
