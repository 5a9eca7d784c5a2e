"""The loop that delivers, run beside a test as in a process of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from events import outbox
from merchants.models import Merchant
from tests.stage import receivers
from tests.stage.factories import EndpointFactory
from tests.stage.receivers import Receiver
from webhooks import upkeep
from webhooks.delivery.drain import Drain
from webhooks.models import Delivery, Endpoint

# A hang is ended after this; alone most takes a tenth of a second, a pause three seconds.
PATIENCE_SECONDS = 60


@contextmanager
def draining(**options: Any) -> Iterator[Drain]:
    """A drain that runs beside the test, as it does in a process of its own."""
    drain = Drain(upkeep.chores(), **options)
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
        waited = time.monotonic() - began
        assert waited < seconds, "it took too long"
        # Asked a twentieth of the time later each time: what waits for seconds asks seldom.
        time.sleep(max(0.01, min(0.1, waited / 20)))
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
