"""Topups as the API shows them; answers and event bodies hold the same dicts."""

from typing import Any

from django.conf import settings

from core import clock
from payouts.topups.models import Topup
from payouts.topups.states import MESSAGES, FailureCode


def topup(topup: Topup) -> dict[str, Any]:
    """Return a topup as the API shows it (contract 2; contract-money, Topup)."""
    code = topup.failure_code
    return {
        "id": topup.id,
        "object": "topup",
        "amount": topup.amount,
        "currency": topup.currency,
        "status": topup.status,
        "description": topup.description,
        "expected_availability_date": clock.unix(topup.expected_at),
        "source": {"type": "bank_transfer", "reference": topup.reference},
        "failure_code": code,
        "failure_message": MESSAGES[FailureCode(code)] if code else None,
        "initiated_by": topup.initiated_by,
        "metadata": topup.metadata,
        "created": clock.unix(topup.created_at),
        "livemode": settings.LIVEMODE,
    }
