"""The one door through which a payment's status changes, with the event that tells it."""

from typing import Any

from events import outbox
from payments import render
from payments.models import PaymentIntent
from payments.states import Status, event_of


def move(intent: PaymentIntent, status: Status, before: dict[str, Any], *, request_id: str) -> None:
    """Write the payment with its next status, and the event, in the caller's transaction.

    :param before: the payment as it was shown, rendered when it was locked.
    :param request_id: the request that began what ends now.
    :raises UnlistedTransition: `payments.states` has no such change.
    """
    event = event_of(intent.status, status)
    intent.status = status
    if status != Status.REQUIRES_ACTION:
        intent.next_action = None
    intent.save()
    body = render.payment_intent(intent)
    outbox.record(intent.merchant, event, body, before, request_id=request_id)
