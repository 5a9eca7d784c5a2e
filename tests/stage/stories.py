"""One payment's story: the money that its books show, and its events in their order."""

import json
from itertools import pairwise
from typing import Any

from django.db.models import Sum

from events.models import Event
from ledger.models import LedgerEntry
from payments.intents import states
from payments.intents.models import Attempt, PaymentIntent
from testbank.states import State
from tests.stage import bank_books
from tests.stage.bank_books import BookedOrder

LISTED = {(change.before, change.after): change.event for change in states.PAYMENTS.changes}
FIRST = ("requires_payment_method", "requires_confirmation")


def assert_charged_at_most_once(payment_id: str) -> int:
    """Compare the bank's book with ours; return what was taken, in minor units.

    A charge that its merchant had voided was taken too; one that we reversed never counted.
    """
    rows = Attempt.objects.filter(intent_id=payment_id)
    attempts = dict(rows.values_list("acquirer_reference", "id"))
    charged = {*rows.filter(captured_minor__gte=1).values_list("acquirer_reference", flat=True)}
    at_the_bank = bank_books.orders(attempts)
    charges = [amount for one in at_the_bank for amount in _taken(one, one.reference in charged)]
    held = sum(one.held for one in at_the_bank)
    owed = LedgerEntry.objects.filter(
        account__kind="acquirer", movement__cause_id__in=attempts.values()
    ).aggregate(total=Sum("amount"))["total"]

    shown = PaymentIntent.objects.get(id=payment_id)
    told = f"the bank took {charges} and holds {held} more, it owes us {owed}"
    assert len(charges) + held <= 1, told
    assert sum(charges) == -(owed or 0) == shown.captured_minor, told
    assert held == (shown.amount_capturable > 0) or shown.status == "processing"
    return shown.captured_minor


def _taken(order: BookedOrder, is_charged: bool) -> tuple[int, ...]:
    is_voided = order.state == State.VOIDED
    return order.given_back if is_charged and is_voided else order.taken


def assert_one_event_per_change(payment_id: str) -> list[str]:
    """Follow the payment's events by the table of states; return the statuses they tell."""
    rows = Event.objects.filter(aggregate_id=payment_id).order_by("sequence")
    events = [json.loads(bytes(row.body)) for row in rows]
    statuses = [event["data"]["object"]["status"] for event in events]

    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], statuses[0] in FIRST) == (states.CREATED, True)
    for (before, after), event in zip(pairwise(statuses), events[1:], strict=True):
        assert LISTED.get((before, after)) == event["type"], f"{before} → {after}"
        assert event["data"]["previous_attributes"].get("status", after) == before
    assert statuses[-1] == PaymentIntent.objects.get(id=payment_id).status
    _assert_each_failure_told_once(events)
    return statuses


def _assert_each_failure_told_once(events: list[dict[str, Any]]) -> None:
    # The table lets a payment fail twice in a row: with another card, and not with the same.
    failures = [event["data"]["object"] for event in events if event["type"] == states.FAILED]
    failed = [payment["last_payment_error"]["attempt"] for payment in failures]
    assert len(set(failed)) == len(failed), f"told more than once: {failed}"
