"""How requests wait for a thread, and how connections wait for requests.

gunicorn's queue is first come, first served for payments and reads alike; it hides how long a
request was in it; and the loop that fills it stands still at times. This one keeps threads
for reads and for health checks, and lets the application know when each request
came and whether its client is still there (`core.arrival`).
"""

import errno
import os
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from threading import Lock
from typing import Any

from gunicorn.http.message import Request
from gunicorn.workers.gthread import TConn, ThreadWorker

from config import strict_http
from config.client_line import ClientLine
from core import arrival
from core.arrival import Arrival
from core.http import Application

# Of a connection, so that the request's whole head is seen; longer ones are no plain reads.
PEEK_BYTES = 8192
LIFE = re.compile(rb"(?:GET|HEAD) /livez[ ?]")
READINESS = re.compile(rb"(?:GET|HEAD) /(?:readyz|healthz)[ ?]")
READ = re.compile(rb"(?:GET|HEAD) ")
HEAD_END = b"\r\n\r\n"
BODY = re.compile(rb"\r\n(?:content-length|transfer-encoding)[ \t]*:", re.IGNORECASE)
# One of so many threads, and at least one, is kept for those who only read: beside those that
# may be at a bank, or wait for a place there.
READERS_SHARE = 16
# After an answer that ends its connection, what the client still sends is read for so long,
# or the answer's end could be lost (RFC 9112, 9.6).
LINGER_SECONDS, LINGER_BYTES = 2.0, 65_536
# An answer that its client does not take holds a thread; mobile networks get this long, for each
# piece of one that is streamed.
SEND_SECONDS = float(os.environ.get("WEB_SEND_SECONDS", "30"))
# A worker that has connections lets one with fewer take the next: so long at most, and half as
# long when it has so many. All would lie at one otherwise, on one core.
YIELD_SECONDS, YIELD_HALF_AT = 0.001, 8
NO_CONNECTION_WAITING = (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK)
NO_FILES_LEFT = (errno.EMFILE, errno.ENFILE)


class Connection(TConn):
    """A client's connection, with the time at which its present request came.

    The worker's loop alone calls `close`.
    """

    def __init__(self, worker: "QueueWorker", *place: Any) -> None:
        super().__init__(worker.cfg, *place)
        self.worker = worker
        self.queued_at = self.waited_seconds = 0.0
        self.drained_bytes = 0

    def first_bytes(self) -> bytes:
        """Return what is there of the next request; it stays where it is."""
        ahead = self.parser.unreader.buf.getvalue() if self.parser else b""
        try:
            return ahead + self.sock.recv(PEEK_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return ahead

    def close(self, graceful: bool = False) -> None:
        if graceful:
            self.worker.linger(self)
        else:
            super().close()


class Threads(futures.Executor):
    """A worker's threads: most take every request, some only reads, two only health checks.

    Payments wait for a bank, reads for nothing outside. So a read finds a thread although
    payments hold every other one. Only a read that has come whole may take it, or a client that
    sends slowly could hold the few. Readiness may wait for a store, life never does: each of the
    two has a thread.
    """

    def __init__(self, threads: int) -> None:
        for_reads = max(1, threads // READERS_SHARE)
        self._most = max(1, threads - for_reads)
        self._for_all = futures.ThreadPoolExecutor(self._most)
        self._for_reads = futures.ThreadPoolExecutor(for_reads)
        self._for_readiness = futures.ThreadPoolExecutor(1)
        self._for_life = futures.ThreadPoolExecutor(1)
        self._asked, self._lock = 0, Lock()  # Of `_for_all`, at work and waiting.

    def submit(  # type: ignore[override]
        self, serve: Callable[[Connection], Any], connection: Connection
    ) -> futures.Future[Any]:
        if few := self._kept_for(connection.first_bytes()):
            return few.submit(serve, connection)
        with self._lock:
            self._asked += 1
        future = self._for_all.submit(serve, connection)
        future.add_done_callback(self._leave)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in (self._for_all, self._for_reads, self._for_readiness, self._for_life):
            pool.shutdown(wait, cancel_futures=cancel_futures)

    def _kept_for(self, head: bytes) -> futures.Executor | None:
        if not is_plain(head):
            return None
        if LIFE.match(head):
            return self._for_life
        if READINESS.match(head):
            return self._for_readiness
        return self._for_reads if self._asked >= self._most and READ.match(head) else None

    def _leave(self, _future: futures.Future[Any]) -> None:
        with self._lock:
            self._asked -= 1


class Pieces:
    """A streamed answer with a time limit for each piece: a large file may take long.

    The server asks for the next piece when its socket has room for the rest of the last one.
    """

    def __init__(self, answer: Any, give_time: Callable[[], None]) -> None:
        self._answer, self._give_time = answer, give_time
        self.close: Callable[[], None] = answer.close

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._answer:
            self._give_time()
            yield piece


def is_plain(head: bytes) -> bool:
    """Return whether a request has come whole, and is a head without a body."""
    head, end, _next = head.partition(HEAD_END)
    return bool(end) and not BODY.search(head)


class QueueWorker(ThreadWorker):
    """gunicorn's threaded worker, whose loop never waits for one client.

    gunicorn gives a new connection a thread before anything has come of its request, for five
    seconds; it ends one by waiting in the loop, two seconds long, for the client to close its
    side, while no other client is accepted; and it dies, with all it serves, when the process may
    open no more files. Here a connection waits in the poller for the first two, and a new one
    outside for the third.
    """

    wsgi: Application
    application: Application

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lingering: deque[Connection] = deque()
        self.send_until: dict[socket.socket, float] = {}

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.application, self.wsgi = self.wsgi, self._answer

    def get_thread_pool(self) -> Threads:
        return Threads(self.cfg.threads)

    # --- The loop's thread -------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        time.sleep(YIELD_SECONDS * self.nr_conns / (self.nr_conns + YIELD_HALF_AT))
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in NO_FILES_LEFT:
                # Until the loop's next turn: the end of a connection makes room.
                self.set_accept_enabled(False)
            elif error.errno not in NO_CONNECTION_WAITING:
                raise
            return
        self.nr_conns += 1
        connection = Connection(self, client, address, listener.getsockname())
        self._wait(connection, self.pending_conns, self.on_pending_socket_readable)
        connection.timeout = time.monotonic() + self.cfg.keepalive

    def enqueue_req(self, conn: Connection) -> None:
        conn.queued_at = time.monotonic()
        super().enqueue_req(conn)

    def linger(self, connection: Connection) -> None:
        """Close for writing; read on for a while, so that the answer's end is not lost."""
        try:
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            connection.close()
            return
        connection.sock.setblocking(False)
        self.nr_conns += 1
        connection.timeout = time.monotonic() + LINGER_SECONDS
        self._wait(connection, self.lingering, self._drain)

    def murder_pending(self) -> None:
        super().murder_pending()
        now = time.monotonic()
        while self.lingering and self.lingering[0].timeout < now:
            self._end(self.lingering[0])
        for client, deadline in list(self.send_until.items()):
            if now > deadline:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)  # Ends the thread's wait.

    def _cap_keepalive(self, deadline: float) -> None:
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def _wait(
        self,
        connection: Connection,
        among: deque[Connection],
        ready: Callable[[Connection, socket.socket], None],
    ) -> None:
        among.append(connection)
        self.poller.register(connection.sock, EVENT_READ, partial(ready, connection))

    def _drain(self, connection: Connection, client: socket.socket) -> None:
        try:
            part = client.recv(LINGER_BYTES)
        except OSError:
            part = b""
        connection.drained_bytes += len(part)
        if not part or connection.drained_bytes > LINGER_BYTES:
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        self.lingering.remove(connection)
        self.poller.unregister(connection.sock)
        self.nr_conns -= 1
        connection.close()

    # --- A request's thread ------------------------------------------------------------------

    def handle(self, conn: Connection) -> Any:
        conn.waited_seconds = time.monotonic() - conn.queued_at
        return super().handle(conn)

    def handle_request(self, req: Request, conn: Connection) -> Any:
        line = f"{req.method} {req.path} ".encode()
        if LIFE.match(line) or READINESS.match(line):
            # Its thread is the only one: no second answer may wait for a client to take the first.
            req.force_close()
        client = ClientLine(conn.sock, takes_interim=req.version >= (1, 1))
        repeated = strict_http.repeated_headers(req)
        noted = arrival.note(
            Arrival(conn.queued_at, conn.waited_seconds, client.has_hung_up, repeated)
        )
        try:
            return super().handle_request(req, conn)
        finally:
            arrival.forget(noted)
            self.send_until.pop(conn.sock, None)

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        answer = self.application(environ, start_response)
        give_time = partial(self._give_time, environ["gunicorn.socket"])
        give_time()
        return Pieces(answer, give_time) if getattr(answer, "streaming", False) else answer

    def _give_time(self, client: socket.socket) -> None:
        self.send_until[client] = time.monotonic() + SEND_SECONDS
