"""The end of a session without a payment; the caller owns the transaction and both locks."""

from typing import Any

from core import clock, context
from payments.charging import cancellations
from payments.checkout import render
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason, SessionStatus
from payments.checkout.transition import DOOR
from payments.intents import transition
from payments.intents.states import OPEN_ATTEMPT, PaymentStatus

# Of a payment that a session made, and that takes nothing with it when both end.
ABANDONED = "abandoned"


def locked(session_id: str, payments: Any) -> CheckoutSession | None:
    """Return the session as it is now, locked behind its payment; None if there is none.

    :param payments: the payments among which it is looked for, with the way to lock them.
    """
    # Found and locked by one statement: a session's payment never changes.
    intent = payments.select_related("merchant").filter(checkout_sessions=session_id).first()
    if intent is None:
        return None
    session: CheckoutSession = intent.checkout_sessions.select_for_update().get(id=session_id)
    session.merchant, session.intent = intent.merchant, intent
    return session


def is_busy(session: CheckoutSession) -> bool:
    """Return whether an attempt of the locked payment is open: it is never cut off."""
    return session.intent.attempts.filter(status__in=OPEN_ATTEMPT).exists()


def end(session: CheckoutSession, reason: ExpirationReason) -> None:
    """End a locked open session, first the payment that it made.

    No attempt of the payment is open.
    """
    before = render.session(session)
    payment = session.intent
    if session.made_payment and payment.status == PaymentStatus.REQUIRES_PAYMENT_METHOD:
        cancellations.close(payment, ABANDONED, through=transition.move_unfollowed)
    session.expiration_reason, session.ended_at = reason, clock.now()
    DOOR.move(session, SessionStatus.EXPIRED, before, request_id=context.request_id())
