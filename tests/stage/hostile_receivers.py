"""Receivers that do what an attacker's would: each kind is a way to keep the sender busy.

None of them ends a connection by itself. For TLS they get the file of a certificate with its key,
which the sender trusts, which has expired, or which it does not trust.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from tests.stage import forged_tls

# Little lies between this end and the sender: what went out was read, except for this and the
# sender's own buffer.
SEND_BUFFER = 32 * 1024
BACKLOG = 512
RECORDS_AT_ONCE = 500
TEDIOUS = (b"1", b"4242-", b" ", b"password=", b'{"a":')


@dataclass
class Line:
    """A connection: how much was written to it, and whether the sender has ended it."""

    wire: socket.socket
    certificate: Path
    sent: int = 0
    is_ended: bool = False

    def hear(self) -> None:
        """Wait for something to come."""
        if not self.wire.recv(65_536):
            raise ConnectionResetError

    def shake_hands(self, *, group: str | None = None) -> None:
        """:param group: the only one that keys are agreed on by; OpenSSL's own by default."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        if group:
            context.set_ecdh_curve(group)
        self.wire = context.wrap_socket(self.wire, server_side=True)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            count = self.wire.send(view)
            self.sent += count
            view = view[count:]

    def pour(self, pieces: Iterable[bytes], *, pause_seconds: float = 0) -> None:
        """Send, for as long as the sender takes it."""
        for piece in pieces:
            self.send(piece)
            time.sleep(pause_seconds)

    def wait(self) -> None:
        """Do nothing until the sender hangs up."""
        while True:
            self.hear()


def _silent(line: Line) -> None:
    line.wait()


def _dripping(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    line.pour(repeat(b"x"), pause_seconds=0.05)


def _flood_of_1xx(line: Line) -> None:
    line.pour(repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000))


def _endless_headers(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\n")
    line.pour(repeat(b"X-More: and more\r\n" * 2000))


def _endless_chunks(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    line.pour(repeat(b"1\r\nx\r\n" * 5000))


def _endless_trailers(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    line.pour(repeat(b"X-More: and more\r\n" * 2000))


def _ten_gigabytes(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    line.pour(repeat(b"x" * 100_000, 100_000))


def _tedious_bodies(line: Line) -> None:
    # Bodies are searched for secrets; each of these is slow to search in a way of its own.
    body = TEDIOUS[line.wire.getpeername()[1] % len(TEDIOUS)] * 100_000
    line.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    line.wait()


def _broken_tls(line: Line) -> None:
    line.pour(repeat(b"SSH-2.0-OpenSSH_9.9\r\n" * 1000))


def _bad_certificate(line: Line) -> None:
    line.shake_hands()
    line.wait()


def _endless_handshake(line: Line) -> None:
    # Before the first hello is over, a client ignores what asks it to begin.
    record = bytes([forged_tls.HANDSHAKE]) + forged_tls.VERSION + b"\0\4" + forged_tls.HELLO_REQUEST
    line.pour(repeat(record * 2000))


def _costly_handshake(line: Line) -> None:
    line.shake_hands(group="ffdhe8192")
    line.wait()


def _renegotiation(line: Line) -> None:
    records = forged_tls.hello_requests(line.wire, line.certificate)
    line.pour(_many_at_once(records))


def _session_tickets(line: Line) -> None:
    records = forged_tls.session_tickets(line.wire, line.certificate)
    line.pour(_many_at_once(records))


def _never_hangs_up(line: Line) -> None:
    line.shake_hands()
    line.hear()
    line.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    # Below TLS, whose goodbye is not answered.
    line.wire = socket.socket(fileno=line.wire.detach())
    line.wait()


def _many_at_once(records: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        yield b"".join(islice(records, RECORDS_AT_ONCE))


class Kind(NamedTuple):
    """A way to be hostile.

    :param tls: the certificate, or None where nothing is sealed.
    :param status: of the attempt's row; and its `error`, as next.
    """

    talk: Callable[[Line], None]
    tls: str | None
    status: int | None
    error: str | None


KINDS = {
    "silent": Kind(_silent, None, None, "timeout"),
    "dripping": Kind(_dripping, None, None, "timeout"),
    "flood_of_1xx": Kind(_flood_of_1xx, None, None, "connection_error"),
    "endless_headers": Kind(_endless_headers, None, None, "connection_error"),
    "endless_chunks": Kind(_endless_chunks, None, 200, None),
    "endless_trailers": Kind(_endless_trailers, None, 200, None),
    "ten_gigabytes": Kind(_ten_gigabytes, None, 200, None),
    "tedious_bodies": Kind(_tedious_bodies, None, 200, None),
    "broken_tls": Kind(_broken_tls, "trusted", None, "tls_error"),
    "expired_certificate": Kind(_bad_certificate, "expired", None, "tls_error"),
    "self_signed_certificate": Kind(_bad_certificate, "self_signed", None, "tls_error"),
    "endless_handshake": Kind(_endless_handshake, "trusted", None, "connection_error"),
    "costly_handshake": Kind(_costly_handshake, "trusted", None, "tls_error"),
    "renegotiation": Kind(_renegotiation, "trusted", None, "connection_error"),
    "session_tickets": Kind(_session_tickets, "trusted", None, "connection_error"),
    "never_hangs_up": Kind(_never_hangs_up, "trusted", 200, None),
    "hanging_handshake": Kind(_silent, "trusted", None, "timeout"),
}


class Hostile:
    """A receiver of one kind, on a port of this machine."""

    def __init__(self, kind: Kind, certificate: Path) -> None:
        self.kind, self._certificate = kind, certificate
        self.lines: list[Line] = []
        self.met = Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.port = self._listener.getsockname()[1]
        Thread(target=self._serve, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.kind.tls else 'http'}://{self.host}"

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in self.lines:
            line.wire.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _peer = self._listener.accept()
                self.lines.append(Line(wire, self._certificate))
                Thread(target=self._talk, args=(self.lines[-1],), daemon=True).start()

    def _talk(self, line: Line) -> None:
        with line.wire:
            try:
                if not self.kind.tls:
                    line.hear()
                self.met.set()
                self.kind.talk(line)
            except OSError:
                line.is_ended = True
            finally:
                line.wire.close()
