"""The payment's door to a new status, always together with its event."""

from collections.abc import Callable
from typing import Any

from core import rows
from events.transitions import Door
from payments.intents import render
from payments.intents.models import PaymentIntent
from payments.intents.states import PAYMENTS, Status

DOOR = Door(PAYMENTS, render.payment_intent, write=rows.update)


def move(
    intent: PaymentIntent,
    status: Status,
    before: dict[str, Any],
    *,
    request_id: str,
    answer: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Write the payment with its next status, and the event, in the caller's transaction.

    :param before: the payment as `render` showed it right after it was locked.
    :param request_id: the request that began the work which ends now, often not the current one.
    :param answer: is given the payment as the event shows it; see `idempotency.answer`.
    :raises UnlistedTransition: `payments.intents.states` has no such change.
    """
    if status != Status.REQUIRES_ACTION:
        intent.next_action = None
    DOOR.move(intent, status, before, request_id=request_id, answer=answer)
