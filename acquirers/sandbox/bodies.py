"""The bodies of requests to the test bank. The card is revealed here, when it is sent."""

from typing import Any

from acquirers.gateway import AuthenticationRequest, AuthorizationRequest
from acquirers.messages import revealed


def authorization(request: AuthorizationRequest) -> dict[str, Any]:
    """Return the body of `POST /authorizations`.

    :raises wire.NotSent: the sealed card does not open, or was destroyed.
    """
    body = _terms(request)
    body["capture"] = request.capture
    if request.proof is not None:
        body["authentication"] = dict(request.proof)
    return body


def enrolment(request: AuthenticationRequest) -> dict[str, Any]:
    """Return the body of `POST /authentications`.

    :raises wire.NotSent: the sealed card does not open, or was destroyed.
    """
    return {
        **_terms(request),
        "merchant_name": request.merchant_name,
        "callback_url": request.callback_url,
    }


def _terms(request: AuthorizationRequest | AuthenticationRequest) -> dict[str, Any]:
    order, card = request.order, revealed(request.sealed)
    return {
        "reference": order.reference,
        "merchant": order.merchant_id,
        "amount": order.amount,
        "currency": order.currency,
        "installments": order.installments,
        "card": {
            "number": card.number,
            "exp_month": card.exp_month,
            "exp_year": card.exp_year,
            "cvc": request.cvc,
            "holder_name": card.holder_name,
        },
    }
