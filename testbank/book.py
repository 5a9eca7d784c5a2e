"""Writing the bank's book: every outcome the bank tells comes from a row written here first."""

from typing import Any

from django.db import transaction

from core import clock, ids
from testbank import behaviours
from testbank.behaviours import Behaviour
from testbank.models import Authorization
from testbank.orders import AuthorizationOrder
from testbank.router import BANK
from testbank.states import State


@transaction.atomic(using=BANK, durable=True)
def authorize(order: AuthorizationOrder) -> Authorization:
    """Authorise once per reference; a reference asked again gets what was written first.

    Requests that race with one reference meet at its unique index: the losers wait
    there for the winner's commit and then read its row.
    """
    behaviour = behaviours.of(order.card_number)
    authorization, is_new = Authorization.objects.get_or_create(
        reference=order.reference,
        defaults=_entry(order, behaviour),
    )
    if is_new and authorization.captured_amount:
        authorization.captures.create(
            amount=authorization.captured_amount,
            created_at=authorization.created_at,
        )
    return authorization


def _entry(order: AuthorizationOrder, behaviour: Behaviour) -> dict[str, Any]:
    is_authorized = behaviour.state == State.AUTHORIZED
    return {
        "merchant": order.merchant,
        "amount": order.amount,
        "capture": order.capture,
        "captured_amount": order.amount if is_authorized and order.capture else 0,
        "currency": order.currency,
        "behaviour": behaviour.name,
        "state": behaviour.state,
        "response_code": behaviour.response_code,
        "authorization_code": ids.random_base62(6).upper() if is_authorized else "",
        "network_reference": ids.new("net"),
        "risk_level": behaviour.risk_level,
        "risk_score": behaviour.risk_score,
        "answered": not behaviour.silent,
        "created_at": clock.now(),
    }
