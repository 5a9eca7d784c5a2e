"""Taking an authorisation back whole, and with it the money that was captured of it."""

from django.db import transaction

from core import clock
from testbank import book
from testbank.models import Authorization, Reversal
from testbank.router import BANK
from testbank.states import State


@transaction.atomic(using=BANK, durable=True)
def void(reference: str) -> bool:
    """Release an authorisation, give captured money back; tell whether it is voided now."""
    authorization = book.locked(reference)
    if authorization is None:
        return False
    if _is_voidable(authorization):
        _void(authorization)
    return authorization.state == State.VOIDED


def _is_voidable(authorization: Authorization) -> bool:
    is_authorized = authorization.state == State.AUTHORIZED
    return is_authorized and not book.behaviour_of(authorization).refuses_void


def _void(authorization: Authorization) -> None:
    # The captured amount stays to be read; the reversal's row says that it went back.
    authorization.state = State.VOIDED
    authorization.voided_at = clock.now()
    authorization.save()
    if authorization.captured_amount:
        Reversal.objects.create(
            authorization=authorization,
            amount=authorization.captured_amount,
            created_at=authorization.voided_at,
        )
