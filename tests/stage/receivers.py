"""Receivers of webhooks on this machine: good ones, and ones that do everything wrong."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bench.webhooks_authority import NAME, signed

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Request:
    """A delivery as it came over the wire."""

    head: list[str]
    body: bytes
    at: float

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.fields}

    @property
    def fields(self) -> list[tuple[str, str]]:
        return [tuple(line.split(": ", 1)) for line in self.head[1:]]


Behaviour = Callable[[socket.socket], None]


class Receiver:
    """Answers each request by `answer`, which writes to the connection as it likes."""

    def __init__(self, answer: Behaviour, *, tls: ssl.SSLContext | None = None) -> None:
        self.answer, self._tls = answer, tls
        self.requests: list[Request] = []
        self.connections = 0
        self._wires: list[socket.socket] = []
        self.listen()

    def listen(self, port: int = 0) -> None:
        """Begin to listen, or come back at the port that it had."""
        self._listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self.port = self._listener.getsockname()[1]
        self._serving = Thread(target=self._serve, args=(self._listener,), daemon=True)
        self._serving.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{self.host}/hooks"

    def reply(self, wire: socket.socket, request: Request) -> None:
        self.answer(wire)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        # Else a thread that comes late would take connections of the next one that gets this file.
        self._serving.join()
        self._listener.close()

    def hang_up(self) -> None:
        """Be gone: with what listens, and with every connection."""
        self.close()
        for wire in self._wires:
            with suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                wire, _peer = listener.accept()
                self._wires.append(wire)
                self.connections += 1
                Thread(target=self._talk, args=(wire,), daemon=True).start()

    def _talk(self, wire: socket.socket) -> None:
        with suppress(OSError), wire:
            talk = self._tls.wrap_socket(wire, server_side=True) if self._tls else wire
            with talk, talk.makefile("rb") as file:
                while request := _read(file):
                    self.requests.append(request)
                    self.reply(talk, request)


def _read(file: Any) -> Request | None:
    head = []
    while line := file.readline().rstrip(b"\r\n"):
        head.append(line.decode("latin-1"))
    if not head:
        return None
    lengths = [line[16:] for line in head if line.lower().startswith("content-length: ")]
    return Request(head, file.read(int(lengths[0])) if lengths else b"", time.time())


@contextmanager
def receiver(answer: Behaviour | bytes = OK, **options: Any) -> Iterator[Receiver]:
    """:param answer: bytes are written as they are, and the connection is kept."""
    behaviour = answer if callable(answer) else lambda wire: wire.sendall(answer)
    ours = Receiver(behaviour, **options)
    try:
        yield ours
    finally:
        ours.close()


# --- Bad ones -----------------------------------------------------------------------------------


def never(wire: socket.socket) -> None:
    time.sleep(60)


def drips_its_head(wire: socket.socket) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
        wire.sendall(bytes([byte]))
        time.sleep(0.05)


def drips_its_body(wire: socket.socket) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        wire.sendall(b"x")
        time.sleep(0.05)


def ten_gigabytes(wire: socket.socket) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    for _ in range(10_000):
        wire.sendall(b"x" * 1_000_000)


def endless_headers(wire: socket.socket) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        wire.sendall(b"X-More: and more\r\n" * 100)


def an_endless_line(wire: socket.socket) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        wire.sendall(b"x" * 100_000)


def endless_continues(wire: socket.socket) -> None:
    while True:
        wire.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def resets_its_body(wire: socket.socket) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it")
    time.sleep(0.05)
    reset(wire)


def reset(wire: socket.socket) -> None:
    """Close the connection as a crashed machine does."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    raise ConnectionResetError  # Others that still hold the socket let it go.


# --- Certificates -------------------------------------------------------------------------------


class Authority:
    """A certificate authority that the sender may be told to trust."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = x509.BasicConstraints(True, 0)
        self._certificate = signed(self._key, self._key, NAME, own, ends=timedelta(days=30))

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, host: str = "127.0.0.1", *, days: int = 30) -> ssl.SSLContext:
        """Return a server's side of TLS with a certificate for the host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate(host, days=days))
        return context

    def certificate(self, host: str, *, days: int = 30) -> Path:
        """Return a file with a certificate for the host, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.SubjectAlternativeName([_subject(host)])
        certificate = signed(key, self._key, x509.Name([]), name, ends=timedelta(days=days))
        file = self._directory / f"{host}{days}.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
        return file


def _subject(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


# --- Names --------------------------------------------------------------------------------------


class NameServer:
    """Answers each question for an A record with the next of `answers`, then with the last."""

    def __init__(self, answers: list[list[str]]) -> None:
        self.answers, self.asked = answers, 0
        self.names: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                question, peer = self._socket.recvfrom(4096)
                if answer := self._answer(question):
                    self._socket.sendto(answer, peer)

    def _answer(self, message: bytes) -> bytes:
        end = message.index(b"\0", 12) + 5
        question = message[12:end]
        self.names.append(_name(question))
        kind = int.from_bytes(question[-4:-2])
        addresses = self._next() if kind == 1 else []
        # A pointer to the name, its type, class IN, kept for 0 seconds.
        records = [
            b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(address) for address in addresses
        ]
        counts = b"\0\1" + len(records).to_bytes(2) + b"\0\0\0\0"
        return message[:2] + b"\x81\x80" + counts + question + b"".join(records)

    def _next(self) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def _name(question: bytes) -> str:
    labels = []
    while size := question[0]:
        labels.append(question[1 : size + 1].decode())
        question = question[size + 1 :]
    return ".".join(labels)


@contextmanager
def name_server(*answers: list[str]) -> Iterator[NameServer]:
    ours = NameServer(list(answers))
    try:
        yield ours
    finally:
        ours.close()
