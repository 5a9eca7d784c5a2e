"""The bank's HTTP doors, for the gateway of a sandbox installation."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from testbank import book, orders
from testbank.models import Authorization
from testbank.states import State

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
