"""How gunicorn runs the web process; the values a host may change come from the environment."""

import os
import socket

import orjson
from gunicorn import util
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.workers.gthread import ThreadWorker

from config.logs import logging_config
from core import context
from core.errors import DomainError, InternalError, ParameterInvalid
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


class EnvelopeWorker(ThreadWorker):
    """Answer requests that never reach the application in our envelope.

    gunicorn's own limits stay on, so that an endless request line ends at 8 KB.
    """

    def handle_error(
        self, req: object, client: socket.socket, addr: object, exc: Exception
    ) -> None:
        is_http_problem = type(exc).__module__.startswith("gunicorn.http")
        refusal = (
            REFUSED_AS.get(type(exc), MalformedRequest)() if is_http_problem else InternalError()
        )
        with context.work() as work:
            self.log.warning("%s answered %s", type(exc).__name__, refusal.http_status)
            util.write_nonblock(client, _http_answer(refusal, work.request_id))


def _http_answer(refusal: DomainError, request_id: str) -> bytes:
    body = orjson.dumps(error_body(refusal))
    head = (
        f"HTTP/1.1 {refusal.http_status} Refused\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Request-Id: {request_id}\r\n\r\n"
    )
    return head.encode() + body


bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_WORKERS", "2"))
threads = int(os.environ.get("WEB_THREADS", "8"))
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
