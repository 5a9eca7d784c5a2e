"""The publisher: opens endpoints, and records events through the service's own door.

A process of its own: `python -m bench.webhooks_publisher ORDER.json`, where the order is the
name of a step and its arguments; what the step returns is printed as JSON.
"""

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from bench import installation  # noqa: F401
from bench.in_bulk import BECOME_OWNER
from core import clock, context, ids
from events import outbox
from events.models import Event
from merchants.models import Merchant
from webhooks import signing_secrets
from webhooks.models import Endpoint

API_VERSION = "2026-11-01"
TABLES = "webhooks_delivery, webhooks_lane, webhooks_endpoint, events_event"
# Events that are recorded before the sending begins are written so many to a transaction.
BATCH = 200


def open_endpoints(*, merchants: int, each: int, url: str) -> list[str]:
    """Return so many new merchants' ids, whose endpoints are at `url` and a number."""
    opened = [_merchant() for _ in range(merchants)]
    for number, merchant in enumerate(opened):
        add_endpoints(merchant=merchant.id, each=each, url=f"{url}/{number}")
    return [merchant.id for merchant in opened]


@transaction.atomic
def add_endpoints(*, merchant: str, each: int, url: str) -> None:
    """Give a merchant so many more endpoints for all events."""
    for number in range(each):
        endpoint = Endpoint.objects.create(
            id=ids.new("we"),
            merchant_id=merchant,
            url=f"{url}/{number}",
            enabled_events=["*"],
            api_version=API_VERSION,
            created_at=clock.now(),
        )
        signing_secrets.create(endpoint)


def fill(*, merchants: list[str], objects: int, each: int) -> list[tuple[str, str, int]]:
    """Record so many events of so many objects ahead of their sending.

    Returns each event's id, its object's and its place among the object's events.
    """
    turns = zip(cycle(_all(merchants)), range(objects), strict=False)
    changed = [(merchant, ids.new("pi")) for merchant, _ in turns]
    todo = [change for _ in range(each) for change in changed]
    events = []
    for begin in range(0, len(todo), BATCH):
        with transaction.atomic():
            events += [_record(*change) for change in todo[begin : begin + BATCH]]
    _analyze()
    return [(event.id, event.aggregate_id, event.sequence) for event in events]


def publish(*, merchants: list[str], count: int, gap_seconds: list[float]) -> dict[str, float]:
    """Change one object after the other, each in a transaction of its own.

    Returns when each event was committed (unix time), by its id.

    :param gap_seconds: the shortest and the longest time between two.
    """
    committed = {}
    for merchant, _ in zip(cycle(_all(merchants)), _paced(count, gap_seconds), strict=False):
        with transaction.atomic():
            event = _record(merchant, ids.new("pi"))
        committed[event.id] = time.time()
    return committed


def close_all() -> None:
    """Delete all deliveries and endpoints."""
    with connection.cursor() as cursor:
        cursor.execute(BECOME_OWNER)
        cursor.execute("TRUNCATE webhooks_delivery, webhooks_lane")
        cursor.execute("RESET ROLE")
    Endpoint.objects.update(status="disabled", deleted_at=clock.now())


def _paced(count: int, gap_seconds: list[float]) -> Iterator[int]:
    # The next is not put off because the one before took long.
    due = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, due - time.monotonic()))
        yield number
        due += random.uniform(*gap_seconds)  # noqa: S311


def _analyze() -> None:
    # PostgreSQL does it by itself within a minute.
    with connection.cursor() as cursor:
        cursor.execute(BECOME_OWNER)
        cursor.execute(f"ANALYZE {TABLES}")
        cursor.execute("RESET ROLE")


def _all(merchants: Sequence[str]) -> list[Merchant]:
    return list(Merchant.objects.filter(id__in=merchants).order_by("id"))


def _merchant() -> Merchant:
    return Merchant.objects.create(
        id=ids.new("mer"),
        name="Acme Store",
        email="owner@acme.example",
        country="TR",
        default_currency="try",
        timezone="Europe/Istanbul",
        api_version=API_VERSION,
        created_at=clock.now(),
    )


def _record(merchant: Merchant, object_id: str) -> Event:
    body = {**PAYMENT, "id": object_id}
    before = {**body, "status": "processing"}
    return outbox.record(merchant, "payment_intent.succeeded", body, before)


# As large as a payment's.
PAYMENT: dict[str, Any] = {
    "id": "",
    "object": "payment_intent",
    "amount": 12500,
    "amount_capturable": 0,
    "amount_received": 12500,
    "currency": "try",
    "status": "succeeded",
    "description": "My first payment",
    "payment_method": {
        "type": "card",
        "card": {"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2040},
        "billing_details": {
            "name": "Ayşe Yılmaz",
            "email": "ayse@example.com",
            "address": {"line1": "İstiklal Cd. 1", "city": "İstanbul", "country": "TR"},
        },
    },
    "metadata": {f"key_{number}": "x" * 40 for number in range(10)},
    "return_url": "https://acme.example/return",
}
STEPS = {step.__name__: step for step in (open_endpoints, add_endpoints, fill, publish, close_all)}


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    # As in a request, the clock is read from the database once.
    with context.work():
        returned = STEPS[order["step"]](**order["arguments"])
    print(json.dumps(returned))
