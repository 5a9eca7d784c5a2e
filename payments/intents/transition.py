"""The payment's door to a new status, always together with its event."""

from core import rows
from events.transitions import Door
from payments.intents import render
from payments.intents.models import PaymentIntent
from payments.intents.states import PAYMENTS, PaymentStatus


def _write(intent: PaymentIntent) -> None:
    if intent.status != PaymentStatus.REQUIRES_ACTION:
        intent.next_action = None
    rows.update(intent)


DOOR = Door(PAYMENTS, render.payment_intent, write=_write)
move = DOOR.move
