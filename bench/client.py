"""The load: clients that keep their connections and ask as fast as they are answered.

A process of its own: `python -m bench.client ORDER.json` prints what it saw as JSON. Raw
sockets, because a client library would cost more of the machine than it measures.
"""

import json
import secrets
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE_SECONDS = 20
READ_BYTES = 65_536
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One kind of request, and which fields of its answer must have which value."""

    port: int
    path: str
    expected: dict[str, Any]
    secret_key: str = ""
    body: dict[str, Any] | None = None

    def request(self, key: str | None = None) -> bytes:
        """Return the next request; a POST has an Idempotency-Key of its own, or the one given."""
        content = b"" if self.body is None else json.dumps(self.body).encode()
        head = [
            f"{'POST' if content else 'GET'} {self.path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.secret_key}",
        ]
        if content:
            # In the form of an id, so that the floor's script takes it for one.
            head += [f"Idempotency-Key: {key or new_key()}"]
            head += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        return "\r\n".join([*head, "", ""]).encode() + content

    def problem(self, status: int, content: bytes) -> str | None:
        """Say what is wrong with an answer, None if nothing is.

        :raises ValueError: it is not JSON.
        """
        body = json.loads(content)
        if status == 200 and self.expected.items() <= body.items():
            return None
        shown = {name: body.get(name) for name in ("error", "id", "status", "last_payment_error")}
        said, expected = (json.dumps(one)[:SHOWN_CHARACTERS] for one in (shown, self.expected))
        return f"{status} {said} where {expected} was expected"


def new_key() -> str:
    """Return a fresh Idempotency-Key."""
    return f"bench_{secrets.token_hex(12)}"


class Line:
    """A kept connection: one request, one answer, and the next.

    `retry_after_seconds` is what the last answer said; `is_last`, that no other will come.
    """

    retry_after_seconds: int | None = None
    is_last = False

    def __init__(self, port: int, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=patience_seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Return the answer's status and content.

        :raises OSError: the connection ended, or nothing came in time.
        :raises ValueError: what came is not HTTP.
        """
        self._socket.sendall(request)
        head, content = self._read_head(b"")
        # The service asks in this way whether a client is still there while it waits.
        while head.startswith(b"HTTP/1.1 100 "):
            head, content = self._read_head(content)
        length = _content_length(head)
        self.retry_after_seconds = _number(head, b"retry-after")
        self.is_last = b"\r\nconnection: close" in head.lower()
        while len(content) < length:
            content += self._read()
        return int(head[9:12]), content

    def close(self) -> None:
        self._socket.close()

    def _read_head(self, received: bytes) -> tuple[bytes, bytes]:
        while b"\r\n\r\n" not in received:
            received += self._read()
        head, _, content = received.partition(b"\r\n\r\n")
        return head, content

    def _read(self) -> bytes:
        received = self._socket.recv(READ_BYTES)
        if not received:
            raise ConnectionError("the connection was closed")
        return received


def _content_length(head: bytes) -> int:
    length = _number(head, b"content-length")
    if length is None:
        raise ConnectionError("the answer does not say how long it is")
    return length


def _number(head: bytes, name: bytes) -> int | None:
    _, mark, rest = head.lower().partition(b"\r\n" + name + b":")
    return int(rest.partition(b"\r\n")[0]) if mark else None


class Seen(NamedTuple):
    """The answers that the clients got; times are of those after the warm-up.

    `answers` counts the warm-up's too: every one is checked. `cpu_ms` is the clients' own CPU time
    per answer, which the service could not use.
    """

    answers: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    wrong: int
    first_wrong: str | None
    last_id: str | None


@dataclass(slots=True)
class Client:
    """One client's connection, and the answers and problems that came over it."""

    call: ClientCall
    line: Line
    samples: list[tuple[float, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    last: bytes = b"{}"

    def ask_until(self, end: float) -> None:
        try:
            while (began := time.perf_counter()) < end:
                status, self.last = self.line.ask(self.call.request())
                answered = time.perf_counter()
                self.samples.append((answered, answered - began))
                if problem := self.call.problem(status, self.last):
                    self.problems.append(problem)
        except (OSError, ValueError) as error:
            self.problems.append(f"no answer that can be read: {error!r}")
        finally:
            self.line.close()


def load(call: ClientCall, *, clients: int, warm_seconds: float, seconds: float) -> Seen:
    """Let `clients` ask for `seconds` after a warm-up; return what they saw."""
    crowd = [Client(call, Line(call.port)) for _ in range(clients)]
    warm = time.perf_counter() + warm_seconds
    threads = [
        threading.Thread(target=client.ask_until, args=(warm + seconds,)) for client in crowd
    ]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, warm - time.perf_counter()))
    cpu_before = time.process_time()
    time.sleep(seconds)
    cpu_seconds = time.process_time() - cpu_before
    for thread in threads:
        thread.join()
    return _seen(crowd, warm, seconds, cpu_seconds)


def _seen(crowd: list[Client], warm: float, seconds: float, cpu_seconds: float) -> Seen:
    samples = [sample for client in crowd for sample in client.samples]
    problems = [problem for client in crowd for problem in client.problems]
    in_time = [took for answered, took in samples if warm <= answered < warm + seconds]
    return Seen(
        answers=len(samples),
        per_second=len(in_time) / seconds,
        p50_ms=percentile(in_time, 50) * 1000,
        p99_ms=percentile(in_time, 99) * 1000,
        cpu_ms=cpu_seconds * 1000 / max(1, len(in_time)),
        wrong=len(problems),
        first_wrong=next(iter(problems), None),
        last_id=json.loads(crowd[0].last).get("id") if not problems else None,
    )


def percentile(samples: list[float], percent: int) -> float:
    """Return the sample that `percent` of all do not exceed; 0 without samples."""
    ordered = sorted(samples)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0


def write_order(file: Path, call: ClientCall, **terms: float) -> None:
    file.write_text(json.dumps({"call": asdict(call), **terms}))


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps(load(ClientCall(**order.pop("call")), **order)._asdict()))


if __name__ == "__main__":
    main()
