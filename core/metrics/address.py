"""The address of a process's metrics: Prometheus' text at `/metrics`, never at the public address.

The socket is opened before a process forks, and each of the forked ones listens at it: whichever
takes a question answers for all, from their files. The database is asked by one process alone,
beat, which gives its own collector.
"""

import atexit
import errno
import os
import socket
import socketserver
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Protocol

import structlog
from django.conf import settings
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest

from core import metrics
from core.heartbeat import ProcessKind
from core.metrics import files
from core.registry import Registry

PATH = "/metrics"
# A port of its own for each kind of process, from the one of METRICS_BIND on.
PORTS: tuple[ProcessKind, ...] = ("web", "worker", "sender", "beat")
# Prometheus gives up after ten.
CLIENT_SECONDS = 5.0
BACKLOG = 32

log = structlog.get_logger(__name__)


class Source(Protocol):
    """A collector of the library's."""

    def collect(self) -> Iterable[Metric]: ...


class _Handler(BaseHTTPRequestHandler):
    timeout = CLIENT_SECONDS
    server: "_Server"

    def do_GET(self) -> None:  # noqa: N802 - The library's name.
        if self.path.partition("?")[0] != PATH:
            self.send_error(404)
            return
        text = self.server.text()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE_LATEST)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for each look."""


class _Server(socketserver.ThreadingMixIn, socketserver.BaseServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket, sources: Iterable[Source]) -> None:
        super().__init__(listener.getsockname(), _Handler)
        self.socket, self._sources = listener, sources

    def text(self) -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        for source in self._sources:
            registry.register(source)
        if metrics.state.files is not None:
            registry.register(metrics.state.files.collector())
        return generate_latest(registry)

    def fileno(self) -> int:
        return self.socket.fileno()

    def get_request(self) -> tuple[socket.socket, object]:
        return self.socket.accept()  # Another process may have been faster: an OSError, ignored.

    def shutdown_request(self, request: object) -> None:
        if isinstance(request, socket.socket):
            with suppress(OSError):
                request.shutdown(socket.SHUT_WR)
            request.close()

    def handle_error(self, request: object, client_address: object) -> None:
        log.warning("metrics_not_answered", exc_info=True)


# Collected by one process alone, for the whole installation; apps add theirs in `ready()`.
SOURCES: Registry[Source] = Registry("source of metrics")

_listening: list[socket.socket] = []
_serving: list[_Server] = []


def begin(kind: ProcessKind) -> None:
    """Open this kind's address and its files, if METRICS_BIND says so; before any fork.

    A process whose address is taken, or whose disk is full, works on without metrics.
    """
    if not settings.METRICS_BIND:
        return
    address = address_of(settings.METRICS_BIND, kind)
    try:
        listener = _listener(address)
        metrics.switch_on(files.new(kind))
        metrics.prepare()
    except OSError as problem:
        log.error("metrics_not_served", address=str(address), reason=problem.strerror)
        metrics.switch_off()
        return
    _listening[:] = [listener]
    atexit.register(_end_of, os.getpid())


def serve(*sources: Source) -> None:
    """Answer at the address from a thread of this process, for all processes that share it.

    :param sources: more to be collected with each answer.
    """
    for listener in _listening:
        server = _Server(listener, sources)
        _serving.append(server)
        Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def end() -> None:
    """Close the address, and delete the files of this process and of those that it forked."""
    while _serving:
        _serving.pop().shutdown()  # Waits until its loop is over, or that would spin.
    while _listening:
        listener = _listening.pop()
        if listener.family is socket.AF_UNIX:
            Path(listener.getsockname()).unlink(missing_ok=True)
        listener.close()
    own = metrics.state.files
    metrics.switch_off()
    if own is not None:
        own.remove()


def _end_of(pid: int) -> None:
    if os.getpid() == pid:  # A child inherits what its parent does at its end.
        end()


def address_of(bind: str, kind: ProcessKind) -> str | tuple[str, int]:
    """Return a kind's own address: a path with the kind at its end, or a port further on."""
    if bind.startswith("/"):
        return f"{bind}.{kind}"
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port) + PORTS.index(kind)


def _listener(address: str | tuple[str, int]) -> socket.socket:
    if isinstance(address, tuple):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        listener = socket.create_server(address, family=family, backlog=BACKLOG)
    else:
        listener = _unix_listener(address)
    listener.setblocking(False)
    return listener


def _unix_listener(path: str) -> socket.socket:
    with (
        socket.socket(socket.AF_UNIX) as probe,
        suppress(ConnectionRefusedError, FileNotFoundError),
    ):
        probe.connect(path)
        raise OSError(errno.EADDRINUSE, "the socket is in use")
    Path(path).unlink(missing_ok=True)  # Of a process that was killed.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(BACKLOG)
    return listener
