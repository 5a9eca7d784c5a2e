"""Payments as the API shows them; answers and event bodies hold the same dicts (contract 2)."""

from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Subquery

from core import clock
from payments.intents.models import Attempt, LineItem, Modification, PaymentIntent
from payments.intents.states import ModificationKind, ModificationStatus, PaymentStatus

CARD_FIELDS = (
    "brand", "bin", "last4", "masked", "exp_month", "exp_year", "card_type", "domestic",
)  # fmt: skip
FRAUD_FIELDS = ("status", "risk_level", "risk_score", "rule", "updated")
ERROR_FIELDS = (
    "type", "code", "decline_code", "reason", "message", "attempt", "network_decline_code",
    "advice_code",
)  # fmt: skip
RISK_FIELDS = ("level", "score", "rule")
REVERSALS = Modification.objects.filter(
    kind=ModificationKind.REVERSE, status=ModificationStatus.SUCCEEDED
)
# The rows that `attempt` shows: with the time at which a late charge was given back.
ATTEMPTS = Attempt.objects.annotate(
    # By name: the model declares the attribute, for rows that were read so.
    **{"reversed_at": Subquery(REVERSALS.filter(attempt=OuterRef("pk")).values("closed_at")[:1])}
)
AUTHENTICATION_FIELDS = ("flow", "result", "version", "eci", "transaction_id")


def payment_intent(intent: PaymentIntent) -> dict[str, Any]:
    """Return a payment; in `requires_action` without the breakdown (spec: PaymentIntent)."""
    return {
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        **({} if intent.status == PaymentStatus.REQUIRES_ACTION else _breakdown(intent)),
        "currency": intent.currency,
        "status": intent.status,
        "capture_method": intent.capture_method,
        "installments": intent.installments,
        "payment_method_type": "card",
        "three_d_secure": {
            "requested": intent.three_d_secure_requested,
            "effective": intent.three_d_secure_effective,
        },
        "next_action": intent.next_action,
        "last_payment_error": _error(intent.last_payment_error),
        "fraud": _fraud(intent.fraud),
        "return_url": intent.return_url,
        "customer": intent.customer_id,
        "description": intent.description,
        "metadata": intent.metadata,
        "latest_attempt": intent.attempt_ids[-1] if intent.attempt_ids else None,
        "attempts": intent.attempt_ids,
        "line_items": intent.line_item_ids,
        "canceled_at": clock.unix(intent.canceled_at) if intent.canceled_at else None,
        "cancellation_reason": intent.cancellation_reason,
        "created": clock.unix(intent.created_at),
        "livemode": settings.LIVEMODE,
    }


def _breakdown(intent: PaymentIntent) -> dict[str, Any]:
    captured = intent.captured_minor
    return {
        **({"amount_charged": captured} if captured else {}),
        "surcharge": intent.surcharge,
        "amount_received": captured - intent.captured_surcharge,
        "amount_capturable": intent.amount_capturable,
        "captured_minor": captured,
        "refunded_minor": intent.refunded_minor,
        "amount_refundable": intent.amount_refundable,
        "card": _card(intent.card),
    }


def _card(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    # The database returns an object's keys in another order than the API shows them.
    return {name: stored[name] for name in CARD_FIELDS} if stored else None


def _fraud(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    return {name: stored[name] for name in FRAUD_FIELDS} if stored else None


def _error(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    return {name: stored[name] for name in ERROR_FIELDS} if stored else None


def attempt(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as the API shows it (contract 2, Attempt); a row of `ATTEMPTS`."""
    effective = "required" if attempt.authentication_demanded else "none"
    return {
        "id": attempt.id,
        "object": "payment_attempt",
        "payment_intent": attempt.intent_id,
        "status": attempt.status,
        "amount": attempt.amount,
        "surcharge": attempt.surcharge,
        "amount_charged": attempt.captured_minor,
        "currency": attempt.currency,
        "installments": attempt.installments,
        "capture_method": attempt.capture_method,
        "payment_method_type": "card",
        "card": _card(attempt.card),
        "three_d_secure": {
            "requested": attempt.three_d_secure_requested,
            "effective": effective,
            **{name: attempt.authentication.get(name) for name in AUTHENTICATION_FIELDS},
        },
        "error": _error(attempt.error),
        "risk": {name: attempt.risk[name] for name in RISK_FIELDS} if attempt.risk else None,
        "authorization_code": attempt.authorization_code,
        "network_reference": attempt.network_reference,
        "reversed_at": clock.unix(attempt.reversed_at) if attempt.reversed_at else None,
        "created": clock.unix(attempt.created_at),
        "livemode": settings.LIVEMODE,
    }


def line_item(item: LineItem) -> dict[str, Any]:
    """Return a line of what is paid for."""
    return {
        "id": item.id,
        "object": "line_item",
        "name": item.name,
        "quantity": item.quantity,
        "unit_amount": item.unit_amount,
        "amount": item.amount,
        "currency": item.currency,
        "tax_amount": item.tax_amount,
        "discount_amount": item.discount_amount,
        "product_code": item.product_code,
        "category": item.category,
        "item_type": item.item_type,
        "created": clock.unix(item.created_at),
        "livemode": settings.LIVEMODE,
    }
