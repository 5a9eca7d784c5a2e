"""The bank's HTTP doors, for the gateway of a sandbox installation."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from testbank import book, orders
from testbank.models import Authorization
from testbank.states import State

STATEMENT_LINES = 200
STATEMENT_FIELDS = ("reference", "merchant", "amount", "captured_amount", "currency", "state")
RESULTS = {
    State.AUTHORIZED: "approved",
    State.DECLINED: "declined",
    State.BLOCKED: "declined",
    State.DEMANDED_AUTHENTICATION: "authentication_required",
    State.PENDING: "pending",
}


@require_POST
def authorizations(request: HttpRequest) -> HttpResponse:
    """Authorise a card. The book is committed before anything is said, or kept silent."""
    try:
        order = orders.read(request.body)
    except orders.Malformed as malformed:
        return JsonResponse({"error": str(malformed)}, status=400)
    authorization = book.authorize(order)
    return JsonResponse(_told(authorization)) if authorization.answered else _silence()


@require_GET
def inquiry(_request: HttpRequest, reference: str) -> HttpResponse:
    """Tell what became of an authorisation.

    "No record" is an answer with content and not a 404, which any proxy could give.
    """
    authorization = book.look_up(reference) if orders.NAME.fullmatch(reference) else None
    if authorization is None:
        return JsonResponse({"reference": reference, "result": "no_record"})
    told = _told(authorization)
    if authorization.state == State.PENDING and not authorization.answered:
        told["result"] = "unknown"  # The bank itself does not know, and never will.
    return JsonResponse(told)


@require_GET
def statement(request: HttpRequest) -> HttpResponse:
    """Tell what the book holds, in order of the references, a page at a time."""
    lines = Authorization.objects.filter(reference__gt=request.GET.get("after", ""))
    page = lines.order_by("reference").values(*STATEMENT_FIELDS)[:STATEMENT_LINES]
    return JsonResponse({"lines": list(page)})


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
    time.sleep(settings.TESTBANK_SILENCE_SECONDS)
    return HttpResponse(status=504)
