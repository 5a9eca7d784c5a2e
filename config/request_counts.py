"""Metrics and traces of requests: by route, never by path, with what they waited for a thread."""

from django.http import HttpRequest, HttpResponse

from core import arrival, traces
from core.context import Work
from core.errors import DomainError
from core.http import HEALTH_PATHS
from core.metrics import OTHER, Counter, Histogram, Label, OwnNames, is_on

METHODS = Label("GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
# Of few routes: each is some 3 KB of a process's file, and whoever calls may walk over all.
ROUTES, STATUSES, CODES = OwnNames(), Label(), Label()
# Of files and of addresses that do not exist, and of requests refused before the address counts.
NO_ROUTE = "none"
# The desk of operators: four hundred addresses, as one.
DESK = "admin/"

ANSWERED = Counter(
    "pay_requests_total",
    "Requests answered, by the error's code.",
    route=ROUTES,
    method=METHODS,
    status=STATUSES,
    code=CODES,
)
SECONDS = Histogram(
    "pay_request_seconds", "Time from a thread to the answer.", route=ROUTES, method=METHODS
)
WAITED = Histogram("pay_request_wait_seconds", "Time that a request waited for a thread.")


def note(request: HttpRequest, response: HttpResponse, work: Work, seconds: float) -> None:
    """Count an answered request, and send its trace."""
    if not is_on() and not traces.is_on():
        return
    route, method = _route(request), request.method or ""
    ANSWERED.count(route, method, str(response.status_code), work.refusal or "none")
    SECONDS.note(seconds, route, method)
    WAITED.note(arrival.waited_seconds())
    # A load balancer's looks would be most of all traces.
    if request.path_info not in HEALTH_PATHS:
        _trace(ROUTES.shown(route), METHODS.shown(method), response.status_code, work)


def note_unread(refusal: DomainError) -> None:
    """Count a request that the server answered itself: it could not read one, or failed."""
    ANSWERED.count(NO_ROUTE, OTHER, str(refusal.http_status), refusal.code)


def _trace(route: str, method: str, status: int, work: Work) -> None:
    traces.close_trace(
        f"{method} {route}", "server", is_failed=status >= 500, method=method, route=route,
        status=status, error=work.refusal, request_id=work.request_id,
        waited_ms=round(arrival.waited_seconds() * 1000),
    )  # fmt: skip


def _route(request: HttpRequest) -> str:
    """Return the template of the address, as `v1/payment_intents/<str:intent_id>`."""
    if request.resolver_match is None:
        return NO_ROUTE
    route = request.resolver_match.route
    return DESK if route.startswith(DESK) else route or "/"
