"""Refunds as the API shows them; answers and event bodies hold the same dicts."""

from typing import Any

from django.conf import settings

from core import clock
from payments.refunds.models import Refund


def refund(refund: Refund) -> dict[str, Any]:
    """Return a refund as the API shows it (contract-money, Refund)."""
    return {
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "currency": refund.currency,
        "payment_intent": refund.intent_id,
        "attempt": refund.attempt_id,
        "status": refund.status,
        "method": refund.method,
        "reason": refund.reason,
        "description": refund.description,
        "failure_reason": refund.failure_reason,
        "pending_reason": refund.pending_reason,
        "reference": refund.reference,
        "metadata": refund.metadata,
        "created": clock.unix(refund.created_at),
        "livemode": settings.LIVEMODE,
    }
