"""A session follows its payment, in the transaction of the payment's change and after its event."""

from typing import Any

from core import clock
from events.transitions import Door
from payments.checkout import render
from payments.checkout.models import CheckoutSession
from payments.checkout.states import SESSIONS, ExpirationReason, SessionStatus
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus

DOOR = Door(SESSIONS, render.session)
ENDS_A_SESSION = (
    PaymentStatus.SUCCEEDED,
    PaymentStatus.REQUIRES_CAPTURE,
    PaymentStatus.CANCELED,
)


def follow(intent: PaymentIntent, before: dict[str, Any], request_id: str) -> None:
    """Complete or end the open session of a locked payment that has been paid or canceled.

    :param before: the payment as it was rendered before its change.
    """
    if intent.status not in ENDS_A_SESSION:
        return
    own = intent.checkout_sessions.select_for_update()
    session: CheckoutSession = own.get(id=intent.checkout_session)
    if session.status != SessionStatus.OPEN:
        return
    session.merchant, session.intent = intent.merchant, intent
    # The session's fields of its payment, as they were: an open session's payment is unpaid.
    paid_nothing = {"payment_status": render.UNPAID, "surcharge": before.get("surcharge", 0)}
    session_before = {**render.session(session), **paid_nothing}
    session.ended_at = clock.now()
    if intent.status == PaymentStatus.CANCELED:
        session.expiration_reason = ExpirationReason.PAYMENT_CANCELED
        ended = SessionStatus.EXPIRED
    else:
        session.customer_details = render.customer_details(intent.billing_details)
        ended = SessionStatus.COMPLETE
    DOOR.move(session, ended, session_before, request_id=request_id)
