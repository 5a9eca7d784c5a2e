"""Every error of every layer leaves in the envelope of contract 4, or as a page for people."""

import sys
from typing import Any

import orjson
import structlog
from django.core.exceptions import BadRequest, SuspiciousOperation, TooManyFieldsSent
from django.db import DatabaseError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.cache import patch_vary_headers
from rest_framework import exceptions as rest
from rest_framework.response import Response
from rest_framework.views import set_rollback

from api.idempotency import Replayed
from config import addresses, error_pages
from core import context, errors, limits
from core.rest import missing
from core.rest.brackets import TooManyParameters
from core.rest.envelope import error_body, error_headers
from core.rest.messages import listed
from merchants.passwords import PasswordsBusy

log = structlog.get_logger(__name__)

LOCK_NOT_AVAILABLE = "55P03"
DEADLOCK_DETECTED = "40P01"
READ_ONLY = "25006"
# Refusals with words of their own for people; all others have those of their status.
PAGES: dict[type[errors.DomainError], str] = {PasswordsBusy: "errors/503_passwords.html"}


def exception_handler(problem: Exception, context_of: dict[str, Any]) -> Response:
    """Answer for what a view of the API raised."""
    set_rollback()
    if isinstance(problem, Replayed):
        return Response(problem.body, status=problem.status, headers=problem.headers)
    refusal = _told(problem)
    if isinstance(refusal, errors.MethodNotAllowed) and (view := context_of.get("view")):
        refusal.advice = f"It takes {listed(view.allowed_methods)}."
    if isinstance(refusal, errors.ResourceMissing):
        refusal = missing.described(refusal)
    return Response(error_body(refusal), status=refusal.http_status, headers=error_headers(refusal))


def _told(problem: BaseException) -> errors.DomainError:
    refusal = as_refusal(problem)
    if isinstance(refusal, errors.InternalError):
        log.error("request_crashed", exc_info=problem)
    return refusal


def as_refusal(problem: BaseException) -> errors.DomainError:
    """Return the API's answer to any exception."""
    match problem:
        case errors.DomainError():
            return problem
        case rest.MethodNotAllowed():
            return errors.MethodNotAllowed()
        case rest.UnsupportedMediaType():
            return errors.UnsupportedMediaType()
        case Http404() | rest.NotFound():
            return errors.UrlNotFound()
        case UnreadablePostError():
            return errors.BodyInvalid("The body ended early.")
        case TooManyFieldsSent():
            return TooManyParameters()
        case SuspiciousOperation() | BadRequest() | MultiPartParserError():
            return errors.ParameterInvalid("The request is malformed.")
        case OperationalError():
            return _database_refusal(problem)
        case InternalError() if _sqlstate_of(problem) == READ_ONLY:
            # A standby, or a primary that shall not be written to: nothing was done.
            return _database_refusal(problem)
    return errors.InternalError()


def _database_refusal(problem: DatabaseError) -> errors.DomainError:
    if context.is_irrevocable():
        return errors.InternalError()
    state = _sqlstate_of(problem)
    if state in (LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED):
        return errors.LockTimeout()
    log.error("database_unavailable", sqlstate=state)
    return errors.UpstreamUnavailable()


def _sqlstate_of(problem: BaseException) -> str | None:
    return getattr(problem.__cause__, "sqlstate", None)


def envelope_response(refusal: errors.DomainError) -> HttpResponse:
    """Answer a refusal outside of any API view."""
    return HttpResponse(
        orjson.dumps(error_body(refusal)),
        status=refusal.http_status,
        content_type="application/json",
        # As an error's page: its request id is this request's alone.
        headers={**error_headers(refusal), "Cache-Control": "no-store"},
    )


def answer(
    request: HttpRequest, refusal: errors.DomainError, *, page: str | None = None
) -> HttpResponse:
    """Answer a refusal outside of any API view, to a person or to a program.

    :param page: the template to show, if it is not the status' own.
    """
    if error_pages.API_PATH.match(request.path_info):
        return envelope_response(refusal)
    is_page = error_pages.is_wanted(request)
    response = error_pages.page(refusal, template=page) if is_page else envelope_response(refusal)
    patch_vary_headers(response, ["Accept"])
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, as_refusal(exception))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    refusal = errors.PermissionDenied("The form has expired: load it again.")
    return answer(request, refusal, page="errors/403_csrf.html")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, errors.PermissionDenied())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, errors.UrlNotFound(advice=addresses.instead_of(request.path_info)))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    return answer(request, limits.RateLimited(60))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer for what a page raised; Django calls this while it handles the exception."""
    refusal = _told(sys.exception() or errors.InternalError())
    return answer(request, refusal, page=PAGES.get(type(refusal)))
