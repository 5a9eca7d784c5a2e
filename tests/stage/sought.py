"""Refunds as inquiries look for them."""

from datetime import UTC, datetime
from typing import Any

from acquirers.gateway import SoughtRefund


def sought(reference: str, **facts: Any) -> SoughtRefund:
    """Return a refund to look for; a bank with names of refunds needs its reference alone."""
    given = {"amount": 12500, "sent_at": datetime(2026, 1, 1, tzinfo=UTC), **facts}
    return SoughtRefund(reference, **given)
