"""The one door through which a payment's status changes, always together with its event."""

from typing import Any

from events import outbox
from payments.intents import render
from payments.intents.models import PaymentIntent
from payments.intents.states import Status, event_of


def move(intent: PaymentIntent, status: Status, before: dict[str, Any], *, request_id: str) -> None:
    """Write the payment with its next status, and the event, in the caller's transaction.

    :param before: the payment as `render` showed it right after it was locked; the event carries
        the differences as `previous_attributes`.
    :param request_id: the request that the event names as its cause: the one that began the work
        which ends now, often not the current one.
    :raises UnlistedTransition: `payments.intents.states` has no such change.
    """
    event = event_of(intent.status, status)
    intent.status = status
    if status != Status.REQUIRES_ACTION:
        intent.next_action = None
    intent.save()
    body = render.payment_intent(intent)
    outbox.record(intent.merchant, event, body, before, request_id=request_id)
