"""Proofs that a cardholder authenticated at the gate: good once, for minutes, for their own order.

They are computed from the authentication and stand in no table.
"""

import base64
import hashlib
import hmac
from datetime import timedelta
from secrets import compare_digest

from django.conf import settings

from core import clock
from testbank import behaviours
from testbank.behaviours import Behaviour
from testbank.models import Authentication, NestpayVisit
from testbank.nestpay import codes
from testbank.nestpay.lines import Payment
from testbank.nestpay.messages import Refused
from testbank.nestpay.terminals import TERMINALS
from testbank.states import AuthenticationState, CardholderChoice

GOOD_FOR = timedelta(minutes=10)
# Misbehaviours after which the bank holds a proof for too old, or for used.
TOO_OLD, USED_UP, ATTEMPTED = "md_too_old", "md_used", "attempted"


def md(authentication: Authentication) -> str:
    """Return the card as the gate hands it out: a name of it that cannot be guessed."""
    return f"{authentication.transaction_id}:{_digest('md', authentication).hex().upper()}"


def xid(authentication: Authentication) -> str:
    return base64.b64encode(_digest("xid", authentication)[:20]).decode()


def rnd(authentication: Authentication) -> str:
    """Return the random text of the gate's return, the same at each look."""
    return base64.b64encode(_digest("rnd", authentication)[:15]).decode()


def is_proven(authentication: Authentication) -> bool:
    return authentication.state == AuthenticationState.AUTHENTICATED


def behaviour_of(authentication: Authentication) -> Behaviour:
    """Return the card's behaviour towards a payment that comes with its proof."""
    behaviour = behaviours.BY_NAME[authentication.behaviour]
    if authentication.decision == CardholderChoice.SILENT:
        return behaviour.declined(behaviours.DO_NOT_HONOR, silent=True)
    return behaviour.authenticated()


def use_up(payment: Payment, shown: dict[str, str]) -> tuple[NestpayVisit, Behaviour]:
    """Take a proof for a payment, in the caller's transaction, whatever becomes of the payment.

    :param shown: `md xid eci cavv` as the shop hands them in.
    :raises Refused: it fits nothing, is too old, or was used.
    """
    transaction_id = shown["md"].partition(":")[0]
    visits = NestpayVisit.objects.select_for_update(of=("self",)).select_related("authentication")
    visit = visits.filter(authentication__transaction_id=transaction_id).first()
    if visit is None or not _fits(visit, payment, shown) or _is_too_old(visit):
        raise Refused(codes.DOES_NOT_FIT)
    if visit.used_at is not None or visit.wrong == USED_UP:
        raise Refused(codes.XID_USED)
    return visit, accepted(visit)


def accepted(visit: NestpayVisit) -> Behaviour:
    """Mark a locked visit's proof as used; return the card's behaviour.

    :raises Refused: it is half secure, and the terminal takes no such payments.
    """
    visit.used_at = clock.now()
    visit.save()
    if visit.wrong == ATTEMPTED and not TERMINALS[visit.client_id].allows_attempted:
        raise Refused(codes.NOT_HALF_SECURE)
    return behaviour_of(visit.authentication)


def _fits(visit: NestpayVisit, payment: Payment, shown: dict[str, str]) -> bool:
    own = visit.authentication
    expected = {"md": md(own), "xid": xid(own), "eci": own.eci, "cavv": own.cavv}
    is_own = all(
        compare_digest(shown[name].encode(), value.encode()) for name, value in expected.items()
    )
    terms = (visit.client_id, visit.order_id, visit.capture)
    money = (own.amount, own.currency, own.installments)
    return (
        is_own
        and is_proven(own)
        and terms == (payment.terminal.client_id, payment.order_id, payment.capture)
        and money == (payment.amount, payment.currency, payment.installments)
    )


def _is_too_old(visit: NestpayVisit) -> bool:
    decided_at = visit.authentication.decided_at
    assert decided_at is not None
    return visit.wrong == TOO_OLD or clock.now() >= decided_at + GOOD_FOR


def _digest(purpose: str, authentication: Authentication) -> bytes:
    key = settings.TESTBANK_SIGNING_KEY
    assert key is not None  # Only a live installation has none, and it opens no test bank.
    text = f"nestpay {purpose} {authentication.transaction_id}"
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()
