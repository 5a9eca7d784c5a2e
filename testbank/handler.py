"""The test bank's WSGI application."""

import time
from typing import Any

import django
import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from whitenoise.middleware import WhiteNoiseMiddleware

from core.http import Application, with_whole_paths
from testbank import orders, pages
from testbank.refusals import refuse

# So much of a body that is too long is read, so that its sender gets to read the answer.
THROWN_AWAY_BYTES = 4 * 1024 * 1024

log = structlog.get_logger(__name__)


class BankHandler(WSGIHandler):
    """Serve the bank's addresses without the service's middlewares.

    The addresses hang on the request and not on a setting, so the process may hold
    the service's own application too: tests call the bank from inside a request to
    the service. Django forgets a request's addresses when its answer is closed.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        # The pages' files come from the bank's own origin.
        files = WhiteNoiseMiddleware(self._route)
        self._middleware_chain = convert_exception_to_response(files)

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        with translation.override(pages.language_of(request)):
            response = super().get_response(request)
        for name, value in pages.HEADERS.items():
            response.headers.setdefault(name, value)
        log.info(
            "bank_request",
            # The route and not the path, which is the caller's text.
            route=request.resolver_match.route if request.resolver_match else None,
            method=request.method,
            status=response.status_code,
            duration_ms=round((time.monotonic() - began) * 1000),
        )
        return response

    def _route(self, request: HttpRequest) -> HttpResponseBase:
        request.urlconf = "testbank.urls"
        if _is_too_long(request):
            request.read(THROWN_AWAY_BYTES)
            return refuse(request, 413)
        try:
            response = self._get_response(request)  # type: ignore[attr-defined]
        except orders.Malformed as malformed:
            return JsonResponse({"error": str(malformed)}, status=400)
        return _told_why(request, response)


def _is_too_long(request: HttpRequest) -> bool:
    announced = request.META.get("CONTENT_LENGTH") or "0"
    # Anything else than digits Django takes for no body.
    return announced.isdecimal() and int(announced) > settings.BODY_MAX_BYTES


def _told_why(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Give a wrong method's answer, which Django leaves empty, something to read."""
    if not isinstance(response, HttpResponseNotAllowed):
        return response
    refusal = refuse(request, 405)
    refusal["Allow"] = response["Allow"]
    return refusal


def open_bank() -> Application:
    """Return the bank's WSGI application.

    :raises ImproperlyConfigured: this installation is live.
    """
    if settings.LIVEMODE:
        raise ImproperlyConfigured(
            "The test bank belongs to sandbox installations: this one is live. "
            "Do not start testbank.wsgi, or set INSTALLATION=sandbox."
        )
    django.setup(set_prefix=False)
    return with_whole_paths(BankHandler())
