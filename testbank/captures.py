"""Taking the money of an authorisation: once, at most what was authorised."""

from dataclasses import dataclass

from django.db import transaction

from core import clock
from testbank import behaviours, book
from testbank.models import Authorization
from testbank.router import BANK
from testbank.states import State


@dataclass(frozen=True, slots=True)
class CaptureAnswer:
    """The bank's answer to a capture.

    :param captured_amount: the whole amount that was ever taken, in minor units.
    """

    is_captured: bool
    captured_amount: int
    response_code: str


@transaction.atomic(using=BANK, durable=True)
def capture(reference: str, *, amount: int) -> CaptureAnswer:
    """Take an amount in minor units and release the rest.

    The amount that was taken, asked again, gets the same answer and takes nothing.
    """
    authorization = book.locked(reference)
    if authorization is None:
        return CaptureAnswer(False, 0, behaviours.NO_SUCH_RECORD)
    return capture_locked(authorization, amount)


def capture_locked(authorization: Authorization, amount: int) -> CaptureAnswer:
    """Take an amount in minor units in the caller's transaction."""
    refusal = _refusal(authorization, amount)
    if refusal is None and not authorization.captured_amount:
        authorization.captured_amount = amount
        authorization.save()
        book.take_money(authorization, now=clock.now())
    return CaptureAnswer(
        is_captured=refusal is None,
        captured_amount=authorization.captured_amount,
        response_code=refusal or behaviours.APPROVED,
    )


def _refusal(authorization: Authorization, amount: int) -> str | None:
    if authorization.state != State.AUTHORIZED:
        return behaviours.INVALID_TRANSACTION
    if authorization.captured_amount:
        is_the_same = amount == authorization.captured_amount
        return None if is_the_same else behaviours.INVALID_TRANSACTION
    if book.behaviour_of(authorization).refuses_capture:
        return behaviours.SYSTEM_ERROR
    return behaviours.INVALID_AMOUNT if amount > authorization.amount else None
