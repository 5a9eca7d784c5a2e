"""Payouts as the API shows them; answers and event bodies hold the same dicts."""

from typing import Any

from django.conf import settings

from core import clock
from payouts.models import Payout
from payouts.states import MESSAGES, FailureCode


def payout(payout: Payout) -> dict[str, Any]:
    """Return a payout as the API shows it (contract 2; contract-money, Payout)."""
    code = payout.failure_code
    return {
        "id": payout.id,
        "object": "payout",
        "amount": payout.amount,
        "currency": payout.currency,
        "status": payout.status,
        "arrival_date": clock.unix(payout.arrival_at),
        "automatic": payout.automatic,
        "method": "standard",
        "destination": payout.destination,
        "description": payout.description,
        "statement_descriptor": payout.statement_descriptor,
        "failure_code": code,
        "failure_message": MESSAGES[FailureCode(code)] if code else None,
        "trace_id": payout.trace_id,
        "metadata": payout.metadata,
        "created": clock.unix(payout.created_at),
        "livemode": settings.LIVEMODE,
    }
