"""The outermost layers: the pages' policy, the request's id, address check, log line and row."""

import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import structlog
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.base import BaseHandler
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from api import request_logs
from config import errors, front_door, probe, request_counts
from config.error_pages import API_PATH
from config.pages import SCHEMA_PATH
from core import arrival, connections, context, traces
from core.errors import DomainError, MethodNotAllowed, Overloaded, ParameterInvalid
from core.http import HEALTH_PATHS, client_address, path_for_reading
from payments.checkout import links
from payments.payer import payer_links

access_log = structlog.get_logger("access")
PANEL_PATH = "/panel/"


class PagePolicy(CSPMiddleware):
    """Give every answer outside the API the pages' policy, of every content type.

    Answers of the API are JSON, which no browser shows as a page. They would pay 43 µs
    for it: the policy is put together again each time.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if API_PATH.match(request.path_info):
            return self.get_response(request)
        return super().__call__(request)


class RequestFrame:
    """Give each request its `req_` id and time budget, and log it when it is answered.

    The log line has the path and never the query: search terms are people's data. The row
    in the request log has both, for the merchant.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        work = context.begin(since=arrival.began_at())
        work.is_request = True
        traces.open_trace()
        work.address = client_address(request) or None
        work.changes_something = request.method not in ("GET", "HEAD")
        try:
            too_late = self._too_late(request)
            response = too_late or self._refused(request) or self.get_response(request)
            if isinstance(response, HttpResponseNotAllowed) and not response.content:
                _tell_why(request, response)
            response["Request-Id"] = work.request_id
            probe.answer(request, response)
            if API_PATH.match(request.path_info):
                # People's data and secrets; the schema alone says otherwise.
                response.headers.setdefault("Cache-Control", "no-store")
            seconds = time.perf_counter() - started
            calls = list(work.afterwards)
            if too_late is None and _is_for_the_request_log(request):
                calls += [request_logs.writer(request, response, work=work, seconds=seconds)]
            elif work.last_change and request.path_info.startswith(PANEL_PATH):
                row = request_logs.writer_of_change(request, response, work=work, seconds=seconds)
                calls += [row]
            if calls:
                _call_when_sent(response, calls)
            _measure(request, response)
            self._log(request, response, work, seconds)
            request_counts.note(request, response, work, seconds)
        finally:
            context.end()
            # Before the answer is sent: a client that does not read it may keep this thread.
            connections.give_back()
        return response

    def _too_late(self, request: HttpRequest) -> HttpResponse | None:
        """Refuse a request that waited too long for its turn, before all else.

        A payer who comes back from the bank is never too late: the page that takes what they
        bring waits for a place itself, and has a button to bring it again. The same holds for a
        payer's press on a payment page.

        Not in the request log: to find out whose it was would take a thread and the
        database away from those that are still waiting.
        """
        path = request.path_info
        is_health = path in HEALTH_PATHS
        if is_health or payer_links.is_return(path) or links.is_press(request.method, path):
            return None
        try:
            arrival.require_turn(within_seconds=settings.WEB_QUEUE_SECONDS)
        except Overloaded as refusal:
            return errors.answer(request, refusal)
        return None

    def _refused(self, request: HttpRequest) -> HttpResponse | None:
        try:
            if request.path_info not in HEALTH_PATHS:
                arrival.require_client()
            front_door.require(request)
            front_door.refuse_on_held_copy(request)
        except DisallowedHost:
            refusal = ParameterInvalid("The Host is not ours.", param="Host")
            return errors.answer(request, refusal)
        except (DomainError, OperationalError) as refusal:
            return errors.answer(request, errors.as_refusal(refusal))
        return None

    def _log(
        self, request: HttpRequest, response: HttpResponse, work: context.Work, seconds: float
    ) -> None:
        access_log.info(
            "request",
            method=request.method,
            path=path_for_reading(request),
            status=response.status_code,
            duration_ms=round(seconds * 1000, 1),
            ip=client_address(request),
            **work.facts,
        )


class ApiAtOnce:
    """Lead a request to the API past all that is for pages: files, languages, people, forms.

    They would take a fourteenth of a retrieval's time, and look at cookies that are nothing to it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.lead_to_page = get_response
        self.call_view = _Views()._get_response  # type: ignore[attr-defined]  # Its stubs leave it out.

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not API_PATH.match(request.path_info):
            return self.lead_to_page(request)
        return self.call_view(request)


class _Views(BaseHandler):
    """Django's way to a view, without the hooks of any middleware around it."""

    _view_middleware = _template_response_middleware = _exception_middleware = ()


def _call_when_sent(response: HttpResponse, calls: list[Callable[[], None]]) -> None:
    """Make the calls when the web server closes the answer: it has sent it, or could not."""

    def call_and_close() -> None:
        del response.close  # Closed twice, they are made once.
        with ExitStack() as stack:  # One that fails keeps none of the others, nor Django's own.
            stack.callback(response.close)
            for call in reversed(calls):
                stack.callback(call)

    response.close = call_and_close  # type: ignore[method-assign]  # This one response's.


def _tell_why(request: HttpRequest, response: HttpResponse) -> None:
    """Give a wrong method's answer, which Django leaves empty, something to read."""
    refusal = errors.answer(request, MethodNotAllowed())
    response.content = refusal.content
    for name, value in refusal.items():
        response[name] = value


def _is_for_the_request_log(request: HttpRequest) -> bool:
    return bool(API_PATH.match(request.path_info)) and request.path_info != SCHEMA_PATH


def _measure(request: HttpRequest, response: HttpResponse) -> None:
    """Say how long the answer is, or gunicorn sends it in chunks; HEAD has no body."""
    if not response.streaming:
        response["Content-Length"] = str(len(response.content))
        if request.method == "HEAD":
            response.content = b""
