"""How gunicorn runs the web process; the values a host may change come from the environment."""

import os
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

import orjson
import structlog
from gunicorn import util
from gunicorn.arbiter import Arbiter
from gunicorn.http.errors import (
    ConfigurationProblem,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.http.message import Request
from gunicorn.workers.base import Worker

from config import request_counts, strict_http
from config.logs import logging_config
from config.queue_worker import Connection, QueueWorker
from core import context, heartbeat, reloads, traces
from core.errors import DomainError, HeaderRepeated, InternalError, ParameterInvalid
from core.metrics import address as metrics_address
from core.rest.envelope import error_body


class UriTooLong(ParameterInvalid):
    http_status = 414
    message = "The request line is too long."


class HeadersTooLarge(ParameterInvalid):
    http_status = 431
    message = "The request's headers are too large."


class MalformedRequest(ParameterInvalid):
    message = "The request is not valid HTTP."


REFUSED_AS = {LimitRequestLine: UriTooLong, LimitRequestHeaders: HeadersTooLarge}
# Exceptions of gunicorn's parser for which no client is to blame.
OUR_FAULTS = (ConfigurationProblem, InvalidResponseHeader, InvalidResponseHeaderName)
READ_SECONDS = float(os.environ.get("WEB_READ_SECONDS", "10"))

log = structlog.get_logger("gunicorn.error")


class EnvelopeWorker(QueueWorker):
    """Answer requests that never reach the application in our envelope.

    gunicorn's own limits stay on, so that an endless request line ends at 8 KB. It has
    none for time: a few clients that send half a request would hold every thread, so
    their sockets are closed for reading when `READ_SECONDS` are over. A request that
    was read by then does not notice.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.read_until: dict[Connection, float] = {}

    def handle(self, conn: Connection) -> Any:
        self.read_until[conn] = time.monotonic() + READ_SECONDS
        try:
            return super().handle(conn)
        finally:
            del self.read_until[conn]

    def murder_pending(self) -> None:
        """End the waits that are over; the worker's loop calls this every second."""
        super().murder_pending()
        now = time.monotonic()
        for conn, deadline in list(self.read_until.items()):
            if now > deadline:
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RD)

    def handle_error(
        self, req: object, client: socket.socket, addr: object, exc: Exception
    ) -> None:
        if isinstance(exc, ssl.SSLError) and isinstance(client, ssl.SSLSocket):
            # Of a scanner, or of a client in the clear: nobody is there to read an answer. A socket
            # that is not wrapped yet means a certificate of ours, which is a crash.
            log.info("tls_refused", reason=exc.reason)
            return
        is_ours = isinstance(exc, OUR_FAULTS) or not isinstance(exc, ParseException)
        refusal = InternalError() if is_ours else _refusal(exc)
        with context.work() as work:
            # The class alone: a parser's text quotes what the client sent.
            problem = type(exc).__name__
            log.warning("request_refused", problem=problem, status=refusal.http_status)
            if is_ours:
                log.error("request_crashed", exc_info=exc)
            request_counts.note_unread(refusal)
            with suppress(OSError):
                util.write_nonblock(client, _http_answer(refusal, work.request_id))


def _refusal(problem: Exception) -> DomainError:
    if name := strict_http.repeated_for_gunicorn(problem):
        return HeaderRepeated(param=name)
    return REFUSED_AS.get(type(problem), MalformedRequest)()


def _http_answer(refusal: DomainError, request_id: str) -> bytes:
    body = orjson.dumps(error_body(refusal))
    head = (
        f"HTTP/1.1 {refusal.http_status} Refused\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nRequest-Id: {request_id}\r\n\r\n"
    )
    return head.encode() + body


def on_starting(server: Arbiter) -> None:
    """Check what the command line has made of the configuration; gunicorn calls this by name."""
    strict_http.require_trust_in_no_peer(server.cfg)
    # The application was loaded before the fork: new workers would have the old code and settings.
    server.handle_hup = reloads.refuse
    metrics_address.begin("web")
    traces.begin("web")


def post_worker_init(_worker: Worker) -> None:
    """Begin the heartbeat of a forked process; gunicorn calls this by name."""
    # gunicorn leaves SIGHUP to the kernel in a worker: it would end with the payments in it.
    reloads.refuse_from_now_on()
    heartbeat.begin()
    metrics_address.serve()


def pre_request(_worker: Worker, request: Request) -> None:
    """Look at a request before the application does; gunicorn calls this by name."""
    strict_http.require_one_reading(request)
    strict_http.join_cookies(request)
    strict_http.hear_no_more_in_the_clear(request)


vars().update(strict_http.TRUST_NO_PEER)
bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_WORKERS", "2"))
threads = int(os.environ.get("WEB_THREADS", "64"))
preload_app = True  # Loaded once and forked; what connects before the fork is closed before it.
worker_class = "config.gunicorn.EnvelopeWorker"
timeout = 60
graceful_timeout = 30
keepalive = 30
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
# The default socket lies in the home directory, where two instances would share it.
control_socket_disable = True
accesslog = None
logconfig_dict = logging_config(level=os.environ.get("LOG_LEVEL", "INFO"))
