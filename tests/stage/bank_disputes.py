"""Disputes at the test bank: opened as its cards do, and counted as its book has them."""

from datetime import timedelta

from core import clock
from testbank import behaviours
from testbank.models import Authorization, Chargeback, Dispute, Recovery
from tests.stage.bank_orders import authorize, notices, refund

DISPUTED, NOT_RECEIVED, INQUIRED = "4000000000000259", "4000000000002685", "4000000000001976"


def complained(number: str = DISPUTED, *, refunded: int = 0) -> str:
    """Charge a card whose holder then complains; return the bank's name for the dispute."""
    authorize(number, capture=True)
    if refunded:
        refund(refunded, "before")
    clock.advance(behaviours.DISPUTED_AFTER)
    return notices()[-1]["dispute"]


def told() -> list[str]:
    """Return the kinds of all notices, in their order."""
    return [one["kind"] for one in notices()]


def disputed(reference: str) -> tuple[str, int, int, int]:
    """Return a dispute's state, and the money: set aside, charged back, regained."""
    row = Dispute.objects.get(reference=reference)
    back, again = (
        sum(model.objects.filter(dispute=row).values_list("amount", flat=True))
        for model in (Chargeback, Recovery)
    )
    return row.state, Authorization.objects.get().disputed_amount, back, again


def wait_for_the_decision() -> None:
    clock.advance(behaviours.DECIDED_AFTER)


def wait_for_the_deadline() -> None:
    clock.advance(behaviours.TAKES_EVIDENCE_FOR)


def wait(span: timedelta) -> None:
    clock.advance(span)
