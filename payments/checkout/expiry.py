"""Sessions that end without a payment: their time is over, or their merchant ends them."""

import structlog
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef

from api import idempotency, request_logs
from core import clock
from core.errors import ResourceMissing
from merchants import audit_log
from merchants.models import Merchant
from payments.checkout import ending
from payments.checkout.models import CheckoutSession
from payments.checkout.refusals import SessionUnexpectedState
from payments.checkout.states import ExpirationReason, SessionStatus
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import OPEN_ATTEMPT

# Sessions that one run ends at most; the next one goes on.
ENDED_AT_ONCE = 500

log = structlog.get_logger(__name__)


@transaction.atomic(durable=True)
def expire(merchant: Merchant, session_id: str) -> CheckoutSession:
    """End an open session, and cancel the payment if the session made it.

    :raises ResourceMissing: the merchant has no such session.
    :raises SessionUnexpectedState: it has ended, or its payer is paying this moment.
    """
    idempotency.take(session_id)
    payments = PaymentIntent.objects.for_merchant(merchant).select_for_update(of=("self",))
    session = ending.locked(session_id, payments)
    if session is None:
        raise ResourceMissing(wanted=CheckoutSession, given=session_id)
    if session.status != SessionStatus.OPEN:
        raise SessionUnexpectedState(session, f"The checkout session is {session.status}.")
    if ending.is_busy(session):
        raise SessionUnexpectedState(
            session, "An attempt of the payment is under way: the session ends as it ends."
        )
    ending.end(session, ExpirationReason.API)
    audit_log.record_by_person("checkout.expired", merchant=merchant, subject=session.id)
    return session


def expire_due(*, job: str) -> int:
    """End every session whose time is over, and return how many were looked at.

    Each in a transaction of its own: one that cannot be ended stops no other.

    :param job: the name of this work in the request logs.
    """
    due = _due()
    for session_id in due:
        try:
            with request_logs.job(job):
                _run_out(session_id, ExpirationReason.TIME)
        except DatabaseError:
            # The database is away, or overloaded: the next run finds it again.
            log.warning("session_not_ended", session=session_id, exc_info=True)
        except Exception:  # A bug of ours must not keep the others open.
            log.exception("session_not_ended", session=session_id)
    return len(due)


def expire_all(*, job: str) -> int:
    """End every open session, and return how many: after a restore each may be paid already.

    One whose payer was paying stays: it ends as its attempt does.

    :param job: the name of this work in the request logs.
    """
    opened = CheckoutSession.objects.filter(status=SessionStatus.OPEN)
    ended = 0
    for session_id in opened.order_by("id").values_list("id", flat=True):
        with request_logs.job(job):
            ended += _run_out(session_id, ExpirationReason.API)
    return ended


def _due() -> list[str]:
    attempts = Attempt.objects.filter(intent=OuterRef("intent_id"), status__in=OPEN_ATTEMPT)
    rows = CheckoutSession.objects.filter(status=SessionStatus.OPEN, expires_at__lte=clock.now())
    free = rows.exclude(Exists(attempts)).order_by("expires_at")
    return list(free.values_list("id", flat=True)[:ENDED_AT_ONCE])


@transaction.atomic(durable=True)
def _run_out(session_id: str, reason: ExpirationReason) -> bool:
    payments = PaymentIntent.objects.select_for_update(of=("self",), skip_locked=True)
    session = ending.locked(session_id, payments)
    if session is None:
        return False  # Its payer is paying, or another run ends it.
    # Ended, or paid for, since it was found.
    if session.status != SessionStatus.OPEN or ending.is_busy(session):
        return False
    ending.end(session, reason)
    return True
