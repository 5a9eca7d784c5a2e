"""Asking the bank for an attempt's money."""

from typing import Any

from payments import gateways
from payments.gateways.base import AuthorizationRequest, Outcome, Proof
from payments.models import Attempt, PaymentIntent


def authorize(attempt: Attempt, *, cvc: str | None, proof: Proof | None = None) -> Outcome:
    """Ask once; no transaction is open, and the caller holds the attempt's lease."""
    request = AuthorizationRequest(
        capture=attempt.capture_method == PaymentIntent.CaptureMethod.AUTOMATIC,
        cvc=cvc,
        proof=proof,
        **terms(attempt),
    )
    return gateways.acquirer().authorize(request)


def terms(attempt: Attempt) -> dict[str, Any]:
    """Return what every request about an attempt's money names."""
    return {
        "reference": attempt.acquirer_reference,
        "merchant_id": attempt.merchant_id,
        "amount": attempt.amount + attempt.surcharge,
        "currency": attempt.currency,
        "sealed": attempt.sealed_card,
    }
