"""The bank's HTTP doors, for the gateway of a sandbox installation.

What cannot be read raises `orders.Malformed`; handler.py answers it with 400.
"""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from core import connections
from testbank import authentications, book, captures, orders, statements, voids
from testbank.models import Authorization
from testbank.states import AuthenticationState, State

THREE_D_SECURE_VERSION = "2.2.0"
RESULTS = {
    State.AUTHORIZED: "approved",
    State.DECLINED: "declined",
    State.BLOCKED: "declined",
    State.DEMANDED_AUTHENTICATION: "authentication_required",
    State.PENDING: "pending",
    State.VOIDED: "voided",
    State.LAPSED: "lapsed",
}


@require_POST
def authenticate(request: HttpRequest) -> HttpResponse:
    """Begin 3-D Secure: tell where the payer's browser has to go, if anywhere."""
    authentication = authentications.begin(orders.read_authentication(request.body))
    told = {"reference": authentication.reference}
    if authentication.state == AuthenticationState.CANNOT_START:
        return JsonResponse({**told, "result": "cannot_start"})
    transaction_id = authentication.transaction_id
    return JsonResponse(
        {
            **told,
            "result": "challenge",
            "transaction_id": transaction_id,
            "acs_url": f"{settings.TESTBANK_PUBLIC_URL}/acs/{transaction_id}",
            "version": THREE_D_SECURE_VERSION,
        }
    )


@require_POST
def authorize(request: HttpRequest) -> HttpResponse:
    """Authorise a card. The book is committed before anything is said, or kept silent."""
    authorization = book.authorize(orders.read_authorization(request.body))
    return JsonResponse(_told(authorization)) if authorization.answered else _silence()


@require_GET
def inquire(_request: HttpRequest, reference: str) -> HttpResponse:
    """Tell what became of an authorisation.

    "No record" is an answer with content and not a 404, which any proxy could give.
    """
    authorization = book.look_up(reference)
    if authorization is None:
        return JsonResponse({"reference": reference, "result": "no_record"})
    told = {**_told(authorization), "captured_amount": authorization.captured_amount}
    if authorization.state == State.PENDING and not authorization.answered:
        told["result"] = "unknown"  # The bank itself does not know, and never will.
    return JsonResponse(told)


@require_POST
def capture(request: HttpRequest, reference: str) -> HttpResponse:
    """Take the money of an authorisation, once."""
    amount = orders.read_amount(request.body)
    answer = captures.capture(reference, amount=amount)
    return JsonResponse(
        {
            "reference": reference,
            "result": "captured" if answer.is_captured else "refused",
            "captured_amount": answer.captured_amount,
            "response_code": answer.response_code,
        }
    )


@require_POST
def void(_request: HttpRequest, reference: str) -> HttpResponse:
    """Take an authorisation back whole."""
    is_voided = voids.void(reference)
    return JsonResponse({"reference": reference, "result": "voided" if is_voided else "refused"})


@require_GET
def statement(request: HttpRequest) -> HttpResponse:
    """Tell what the book holds, in order of the references, a page at a time."""
    after = orders.read_reference(request.GET.get("after", ""))
    return JsonResponse({"lines": statements.page(after)})


@require_GET
def healthz(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


def _told(authorization: Authorization) -> dict[str, Any]:
    return {
        "reference": authorization.reference,
        "result": RESULTS[State(authorization.state)],
        "response_code": authorization.response_code,
        "authorization_code": authorization.authorization_code or None,
        "network_reference": authorization.network_reference,
        "risk": {"level": authorization.risk_level, "score": authorization.risk_score},
    }


def _silence() -> HttpResponse:
    """Outlast the gateway's patience, then end with nothing to read."""
    connections.give_back()
    time.sleep(settings.TESTBANK_SILENCE_SECONDS)
    return HttpResponse(status=504)
