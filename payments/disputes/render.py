"""Disputes as the API shows them; answers and event bodies hold the same dicts."""

from typing import Any

from django.conf import settings

from core import clock
from payments.disputes import evidence
from payments.disputes.models import Dispute

# The rows that `dispute` shows: with their payments.
DISPUTES = Dispute.objects.select_related("intent")


def dispute(dispute: Dispute) -> dict[str, Any]:
    """Return a dispute as the API shows it (contract-money, Dispute); a row of `DISPUTES`."""
    due_by = clock.unix(dispute.evidence_due_by)
    return {
        "id": dispute.id,
        "object": "dispute",
        "amount": dispute.amount,
        "currency": dispute.currency,
        "payment_intent": dispute.intent_id,
        "attempt": dispute.attempt_id,
        "status": dispute.status,
        "reason": dispute.reason,
        "network_reason_code": dispute.network_reason_code,
        "evidence_due_by": due_by,
        "evidence_details": {
            "due_by": due_by,
            "has_evidence": bool(dispute.evidence),
            "past_due": dispute.is_past_due,
            "submission_count": dispute.submission_count,
        },
        "evidence": {key: dispute.evidence.get(key) for key in evidence.KEYS},
        "is_payment_refundable": dispute.intent.amount_refundable > 0,
        "metadata": dispute.metadata,
        "created": clock.unix(dispute.created_at),
        "livemode": settings.LIVEMODE,
    }
