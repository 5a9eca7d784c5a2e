"""Taking an authorisation back whole, and with it the money that was captured of it that day."""

from django.db import transaction

from core import clock
from testbank import behaviours, book, days
from testbank.models import Authorization
from testbank.router import BANK
from testbank.states import State


@transaction.atomic(using=BANK, durable=True)
def void(reference: str) -> str:
    """Release an authorisation and give captured money back; return the bank's code.

    `APPROVED` again for what is voided already; `SETTLED` for captured money once the day is over.
    """
    authorization = book.locked(reference)
    if authorization is None:
        return behaviours.NO_SUCH_RECORD
    if authorization.state == State.VOIDED:
        return behaviours.APPROVED
    return void_locked(authorization)


def void_locked(authorization: Authorization) -> str:
    """Release an authorisation in the caller's transaction; return the bank's code."""
    refusal = _refusal(authorization)
    if refusal is None:
        book.void(authorization, at=clock.now())
    return refusal or behaviours.APPROVED


def is_settled(authorization: Authorization) -> bool:
    """Return whether captured money is beyond a void, so that only a refund brings it back."""
    capture = authorization.captures.order_by("created_at").first()
    if capture is None:
        return False
    is_day_over = clock.now() >= days.end_of(capture.created_at)
    return is_day_over or book.behaviour_of(authorization).settles_at_once


def _refusal(authorization: Authorization) -> str | None:
    if authorization.state != State.AUTHORIZED:
        return behaviours.INVALID_TRANSACTION
    if book.behaviour_of(authorization).refuses_void:
        return behaviours.DO_NOT_HONOR
    if is_settled(authorization):
        return behaviours.SETTLED
    is_whole = authorization.available_amount == authorization.captured_amount
    return None if is_whole else behaviours.INVALID_TRANSACTION
