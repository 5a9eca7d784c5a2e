"""A session follows its payment, in the transaction of the payment's change and after its event."""

from typing import Any

from django.conf import settings

from acquirers.declines import PROCESSING_ERROR
from core import clock
from payments.checkout import ending, links, render
from payments.checkout.models import CheckoutSession
from payments.checkout.states import COMPLETES_A_SESSION, ExpirationReason, SessionStatus
from payments.checkout.transition import DOOR
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus

ENDS_A_SESSION = (*COMPLETES_A_SESSION, PaymentStatus.CANCELED)


def follow(intent: PaymentIntent, before: dict[str, Any], request_id: str) -> None:
    """Complete or end the open session of a locked payment, or count a failed try of its page.

    :param before: the payment as it was rendered before its change.
    """
    if intent.status in ENDS_A_SESSION:
        session = _open_session(intent)
        if session is not None:
            _end(session, before, request_id)
    elif intent.status == PaymentStatus.REQUIRES_PAYMENT_METHOD:
        session = _open_session(intent)
        if session is not None:
            _count_failure(session)


def _open_session(intent: PaymentIntent) -> CheckoutSession | None:
    own = intent.checkout_sessions.select_for_update()
    session: CheckoutSession = own.get(id=intent.checkout_session)
    if session.status != SessionStatus.OPEN:
        return None
    session.merchant, session.intent = intent.merchant, intent
    return session


def _end(session: CheckoutSession, before: dict[str, Any], request_id: str) -> None:
    intent = session.intent
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


def _is_of_the_page(intent: PaymentIntent) -> bool:
    """Return whether the payment's last attempt is a press on the page: its way back says so."""
    session_id = intent.checkout_session
    way_back = links.way_back(session_id) if session_id else ""
    return bool(way_back) and (intent.return_url or "").startswith(way_back)


def _count_failure(session: CheckoutSession) -> None:
    """Give a try back that says nothing about the card; end a session whose last try has failed.

    The try was counted before the bank was asked. The attempt that has failed need not be the
    page's: the shop may have confirmed another card while the last try's payer was at the bank.
    """
    error = session.intent.last_payment_error or {}
    if _is_of_the_page(session.intent) and error.get("code") == PROCESSING_ERROR.code:
        session.tries = max(0, session.tries - 1)
        session.save(update_fields=["tries"])
    elif session.tries >= settings.CHECKOUT_TRIES_MAX:
        ending.end(session, ExpirationReason.TOO_MANY_TRIES)
