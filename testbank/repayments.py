"""Refunds written down and decided, under the lock of their authorisation."""

from datetime import datetime
from typing import Any

from core import clock, ids
from testbank import behaviours, notices
from testbank.models import Authorization, Bounce, Refund, Repayment
from testbank.states import RefundState

NUMBER_CHARACTERS = 12


def beginning(authorization: Authorization) -> dict[str, Any]:
    """Return how a refund begins that nothing forbids: done at once, or waiting for its end."""
    if _ends_as(authorization) is None:
        return _done()
    due_at = clock.now() + behaviours.DECIDED_AFTER
    return {
        "state": RefundState.PENDING,
        "response_code": behaviours.IN_PROGRESS,
        "due_at": due_at,
    }


def begin(refund: Refund, authorization: Authorization) -> None:
    """Count the money of a new refund as refunded, and give it back unless it has to wait.

    From here on no other refund and no void can take it again.
    """
    authorization.refunded_amount += refund.amount
    authorization.save()
    if refund.state == RefundState.REFUNDED:
        _repay(refund)


def decide_due(authorization: Authorization, now: datetime) -> None:
    """Decide about the authorisation's pending refunds that have waited long enough."""
    if not authorization.refunded_amount:
        return
    for refund in authorization.refunds.filter(due_at__lte=now).order_by("pk"):
        if _ends_as(authorization) == RefundState.REFUNDED:
            _end(refund, **_done())
            _repay(refund)
        else:
            _end(refund, state=RefundState.REFUSED, response_code=behaviours.DO_NOT_HONOR)
            authorization.refunded_amount -= refund.amount
            authorization.save()


def bounce(refund: Refund) -> None:
    """Take back a refund that the card could not be credited with, and write the notice."""
    authorization = refund.authorization
    _end(refund, state=RefundState.BOUNCED, response_code=behaviours.EXPIRED_CARD)
    Bounce.objects.create(refund=refund, amount=refund.amount, created_at=clock.now())
    authorization.refunded_amount -= refund.amount
    authorization.save()
    notices.tell_of_bounce(refund)


def _ends_as(authorization: Authorization) -> RefundState | None:
    return behaviours.BY_NAME[authorization.behaviour].refund_ends_as


def _done() -> dict[str, Any]:
    return {
        "state": RefundState.REFUNDED,
        "response_code": behaviours.APPROVED,
        "network_reference": ids.random_base62(NUMBER_CHARACTERS).upper(),
    }


def _end(refund: Refund, **facts: Any) -> None:
    for name, value in {**facts, "due_at": None}.items():
        setattr(refund, name, value)
    refund.save()


def _repay(refund: Refund) -> None:
    Repayment.objects.create(refund=refund, amount=refund.amount, created_at=clock.now())
