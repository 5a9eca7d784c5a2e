"""Proofs that a cardholder authenticated at a gate: good once, for minutes, for their own order.

They are computed from the authentication and stand in no table.
"""

import base64
import hashlib
import hmac
from datetime import timedelta

from django.conf import settings

from core import clock
from testbank import behaviours
from testbank.behaviours import Behaviour
from testbank.models import Authentication, GateVisit
from testbank.protocols.lines import Payment
from testbank.states import AuthenticationState, CardholderChoice

GOOD_FOR = timedelta(minutes=10)
# Misbehaviours after which the bank holds a proof for too old, or for used.
TOO_OLD, USED_UP, ATTEMPTED = "md_too_old", "md_used", "attempted"


def xid(authentication: Authentication, protocol: str) -> str:
    return base64.b64encode(digest("xid", authentication, protocol)[:20]).decode()


def rnd(authentication: Authentication, protocol: str) -> str:
    """Return the random text of the gate's return, the same at each look."""
    return base64.b64encode(digest("rnd", authentication, protocol)[:15]).decode()


def is_proven(authentication: Authentication) -> bool:
    return authentication.state == AuthenticationState.AUTHENTICATED


def behaviour_of(authentication: Authentication) -> Behaviour:
    """Return the card's behaviour towards a payment that comes with its proof."""
    behaviour = behaviours.BY_NAME[authentication.behaviour]
    if authentication.decision == CardholderChoice.SILENT:
        return behaviour.declined(behaviours.DO_NOT_HONOR, silent=True)
    return behaviour.authenticated()


def is_for(visit: GateVisit, payment: Payment) -> bool:
    """Return whether a visit has authenticated this very payment."""
    own = visit.authentication
    terms = (visit.client_id, visit.order_id, visit.capture)
    money = (own.amount, own.currency, own.installments)
    return (
        is_proven(own)
        and terms == (payment.client_id, payment.order_id, payment.capture)
        and money == (payment.amount, payment.currency, payment.installments)
    )


def is_too_old(visit: GateVisit) -> bool:
    """Return whether the minutes of a proof are over."""
    decided_at = visit.authentication.decided_at
    assert decided_at is not None
    return visit.wrong == TOO_OLD or clock.now() >= decided_at + GOOD_FOR


def is_used(visit: GateVisit) -> bool:
    return visit.used_at is not None or visit.wrong == USED_UP


def accepted(visit: GateVisit, *, allows_attempted: bool) -> Behaviour | None:
    """Mark a locked visit's proof as used; return the card's behaviour.

    None if it is half secure, and the terminal takes no such payments.
    """
    visit.used_at = clock.now()
    visit.save()
    if visit.wrong == ATTEMPTED and not allows_attempted:
        return None
    return behaviour_of(visit.authentication)


def digest(purpose: str, authentication: Authentication, protocol: str) -> bytes:
    """Return bytes that only the bank can compute of an authentication."""
    key = settings.TESTBANK_SIGNING_KEY
    assert key is not None  # Only a live installation has none, and it opens no test bank.
    text = f"{protocol} {purpose} {authentication.transaction_id}"
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()
