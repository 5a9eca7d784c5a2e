"""Request logs: one row per request to /v1 and per background change (contract 2).

The row of a request is written when its answer has left (docs/adr/0008). One that
cannot be written is a warning in the log, and the request does not fail.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import Error, connection, transaction
from django.http import HttpRequest, HttpResponse

from api import authentication, redaction
from core import clock, context, prepared, rows
from core.context import ActorKind, Work
from core.http import client_address, path_for_reading
from merchants.models import RequestLog

log = structlog.get_logger(__name__)

# Their answers are rows of this very table: kept in it, each look would double them.
OWN_PATH = re.compile(r"/v1/request_logs(/|$)")
OUR_ID = re.compile(r"[a-z]{2,8}_[0-9A-Za-z]{1,30}", re.ASCII)
# These answers must not tell which merchant a guessed key belongs to.
REFUSED_FOR_THE_KEY = (401, 429)
ROWS_PER_DELETE = 5_000
FORGET_SECONDS = 3

FORGET = """
DELETE FROM merchants_requestlog WHERE id = ANY(ARRAY(
    SELECT id FROM merchants_requestlog WHERE created_at < %(before)s LIMIT %(most)s))
"""


# --- Requests ---------------------------------------------------------------------------------


def writer(
    request: HttpRequest, response: HttpResponse, *, work: Work, seconds: float
) -> Callable[[], None]:
    """Return what writes the request's row; for when its answer has left.

    Ask for it before a HEAD's answer is emptied.

    :param seconds: how long the answer took.
    """
    content = b"" if response.streaming else response.content
    return partial(
        _write_request, _row_of, LoggedRequest(work, request, response, seconds, content)
    )


def writer_of_change(
    request: HttpRequest, response: HttpResponse, *, work: Work, seconds: float
) -> Callable[[], None]:
    """Return what writes the row of a panel's request that changed something.

    So each event's `request_id` is found here (contract, To 2, 3: request logs).
    """
    return partial(
        _write_request, _row_of_panel, LoggedRequest(work, request, response, seconds, b"")
    )


def _write_request(row_of: Callable[["LoggedRequest"], RequestLog], call: "LoggedRequest") -> None:
    with context.resumed(call.work):
        _write(lambda: row_of(call))


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request and its answer; `content` is what a GET in the place of a HEAD would show."""

    work: Work
    request: HttpRequest
    response: HttpResponse
    seconds: float
    content: bytes


def _row_of(call: LoggedRequest) -> RequestLog:
    request, status = call.request, call.response.status_code
    key_id, merchant_id = _caller(call)
    answer = _parsed(call.content)
    body, is_body_cut = _text(call.work.body)
    shown, is_answer_cut = _text(answer if _is_answer_kept(call) else None)
    return RequestLog(
        id=call.work.request_id,
        merchant_id=merchant_id,
        kind=RequestLog.Kind.API,
        method=redaction.line(request.method or "", most=16),
        path=redaction.line(path_for_reading(request), most=500),
        query=redaction.query_text(request.META.get("QUERY_STRING", "")),
        status=status,
        duration_ms=round(call.seconds * 1000),
        api_key=key_id,
        idempotency_key=_idempotency_key(request),
        original_request=call.response.get("Original-Request"),
        object_id=_object_id(request, answer),
        ip=client_address(request) or None,
        api_version=call.response.get("PF-Version"),
        request_body=body,
        response_body=shown,
        truncated=is_body_cut or is_answer_cut,
        error_code=_error_code(answer) if status >= 400 else None,
        created_at=clock.moved(call.work.begun_at),
    )


def _row_of_panel(call: LoggedRequest) -> RequestLog:
    """Return the row of a person's request: no bodies, which hold what people typed."""
    merchant_id, object_id = call.work.last_change or (None, None)
    return RequestLog(
        id=call.work.request_id,
        merchant_id=merchant_id,
        kind=RequestLog.Kind.PANEL,
        method=redaction.line(call.request.method or "", most=16),
        path=redaction.line(call.request.path_info, most=500),
        status=call.response.status_code,
        duration_ms=round(call.seconds * 1000),
        object_id=object_id,
        created_at=clock.moved(call.work.begun_at),
    )


def _caller(call: LoggedRequest) -> tuple[str | None, str | None]:
    facts = call.work.facts
    if "merchant" in facts or call.response.status_code in REFUSED_FOR_THE_KEY:
        return facts.get("key_id"), facts.get("merchant")
    # Refused before the key was looked up; its owner wants to find the request here too.
    key = authentication.key_sent(call.request.META.get("HTTP_AUTHORIZATION", ""))
    return (key.id, key.merchant_id) if key else (None, None)


def _is_answer_kept(call: LoggedRequest) -> bool:
    is_own = OWN_PATH.match(call.request.path_info) and call.response.status_code < 400
    return call.request.method != "HEAD" and not is_own


def _idempotency_key(request: HttpRequest) -> str | None:
    sent = request.META.get("HTTP_IDEMPOTENCY_KEY")
    return None if sent is None else redaction.header_text(sent, most=255)


def _parsed(content: bytes) -> dict[str, Any] | None:
    """Return what was answered; None for what is no JSON of ours."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None


def _text(body: Any) -> tuple[str | None, bool]:
    return (None, False) if body is None else redaction.body_text(body)


def _object_id(request: HttpRequest, answer: dict[str, Any] | None) -> str | None:
    """Return the id of the object that the request is about: the answer's, or the path's."""
    in_path = request.resolver_match.kwargs.values() if request.resolver_match else ()
    candidates = [(answer or {}).get("id"), *in_path]
    return next((found for found in candidates if found and OUR_ID.fullmatch(found)), None)


def _error_code(answer: dict[str, Any] | None) -> str | None:
    return (answer or {}).get("error", {}).get("code")


# --- Background work --------------------------------------------------------------------------


@contextmanager
def job(path: str) -> Iterator[None]:
    """Run the block as a piece of work of its own, and log it if it changed something.

    Its `req_` id is the one that its events carry, if no request began what it ends.

    :param path: the task's name, such as `payments.intents.tasks.resolve_unknown`.
    """
    error_code: str | None = "internal_error"
    started = time.perf_counter()
    with context.work() as work:
        if work.actor is context.SYSTEM:
            context.act_as(ActorKind.SYSTEM, path)
        try:
            yield
            error_code = None
        finally:
            seconds = time.perf_counter() - started
            if work.last_change:
                _write(lambda: _row_of_job(work, path, seconds, error_code))


def _row_of_job(work: Work, path: str, seconds: float, error_code: str | None) -> RequestLog:
    merchant_id, object_id = work.last_change or (None, None)
    return RequestLog(
        id=work.request_id,
        merchant_id=merchant_id,
        kind=RequestLog.Kind.JOB,
        path=path,
        duration_ms=round(seconds * 1000),
        object_id=object_id,
        error_code=error_code,
        created_at=clock.moved(work.begun_at),
    )


def _write(row_of: Callable[[], RequestLog]) -> None:
    try:
        rows.insert_lossily(row_of())  # One lost in a crash is not worth a wait for the disk.
    except Error as problem:
        log.warning("request_log_not_written", reason=type(problem).__name__, detail=str(problem))


# --- Reading and forgetting -------------------------------------------------------------------


def shown(row: RequestLog) -> dict[str, Any]:
    """Return a row as the API shows it."""
    return {
        "id": row.id,
        "object": "request_log",
        "kind": row.kind,
        "method": row.method,
        "path": row.path,
        "query": row.query,
        "status": row.status,
        "duration_ms": row.duration_ms,
        "api_key": row.api_key,
        "idempotency_key": row.idempotency_key,
        "original_request": row.original_request,
        "object_id": row.object_id,
        "ip": row.ip,
        "api_version": row.api_version,
        "request_body": row.request_body,
        "response_body": row.response_body,
        "truncated": row.truncated,
        "error_code": row.error_code,
        "created": clock.unix(row.created_at),
        "livemode": settings.LIVEMODE,
    }


def forget_old() -> int:
    """Delete rows older than `REQUEST_LOG_DAYS` (movable clock) and return how many.

    In small statements: a large one would hold back the cleaning of every other table.
    """
    before = clock.now() - timedelta(days=settings.REQUEST_LOG_DAYS)
    ends_at = time.monotonic() + FORGET_SECONDS
    deleted = 0
    while found := _forget_some(before):
        deleted += found
        if time.monotonic() > ends_at:
            break  # The next run goes on; the worker has payments to settle.
    return deleted


@transaction.atomic
def _forget_some(before: datetime) -> int:
    prepared.use_indexes()
    with connection.cursor() as cursor:
        cursor.execute(FORGET, {"before": before, "most": ROWS_PER_DELETE})
        return cursor.rowcount
