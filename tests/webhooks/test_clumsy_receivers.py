"""Receivers that answer clumsily: the status line decides, and an unread answer says why."""

from typing import Any

import pytest

from tests.stage.deliveries import deliver, post
from tests.stage.receivers import receiver
from webhooks.delivery.http.heads import Head
from webhooks.delivery.http.wires import HEAD_MAX

CHUNKS = b"2\r\nok\r\n0\r\n\r\n"
MANY = b"X: y\r\n" * ((HEAD_MAX - 100) // 6)
# The fields behind a status line, and the body.
CLUMSY = {
    "the same length twice": (b"Content-Length: 2\r\ncontent-length: 2\r\n", b"ok"),
    "the same length in a list": (b"Content-Length: 2, 2\r\n", b"ok"),
    "a length before chunks": (b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n", CHUNKS),
    "a length behind chunks": (b"Transfer-Encoding: Chunked\r\nContent-Length: 2\r\n", CHUNKS),
    "many short fields": (b"Content-Length: 2\r\n" + MANY, b"ok"),
    "a blank before the colon": (b"Content-Length : 2\r\nServer\t: x\r\n", b"ok"),
    "a blank in a name": (b"Content-Length: 2\r\nServed by: x\r\n", b"ok"),
    "a name of other letters": ("Content-Length: 2\r\nX-Sunucu-Adı: x\r\n".encode(), b"ok"),
    "a line that is no field": (b"Content-Length: 2\r\nwarning, deprecated\r\n", b"ok"),
    "a field of two lines": (b"X: a\r\n b: c\r\nContent-Length: 2\r\n", b"ok"),
    "no field, of two lines": (b"oh dear\r\n b: c\r\nContent-Length: 2\r\n", b"ok"),
    "an encoding that is none": (b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n", b"ok"),
    "ends of lines in short": (b"Content-Length: 2\nContent-Length: 2\n", b"ok"),
}
UNUSED_AGAIN = {name for name in CLUMSY if "chunks" in name}


def answer(fields: bytes, body: bytes, *, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\n" + fields + b"\r\n" + body


@pytest.fixture(autouse=True)
def _a_busy_machine_is_no_silent_receiver(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 30.0


@pytest.mark.parametrize("name", CLUMSY)
def test_an_event_is_taken_by_the_status_line_of_a_clumsy_answer(name: str, settings: Any) -> None:
    with receiver(answer(*CLUMSY[name])) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url)

    assert [(got.status, got.error, got.excerpt) for got in answers] == [(200, None, "ok")] * 2
    assert theirs.connections == (2 if name in UNUSED_AGAIN else 1)


@pytest.mark.parametrize("name", CLUMSY)
def test_and_refused_by_it(name: str, settings: Any) -> None:
    with receiver(answer(*CLUMSY[name], status=b"503 Later")) as theirs:
        got = deliver(theirs, settings)

    assert (got.status, got.error, got.excerpt) == (503, "http_status", "ok")


@pytest.mark.parametrize("name", [name for name in CLUMSY if name != "many short fields"])
def test_a_head_may_come_in_any_two_pieces(name: str) -> None:
    whole = answer(*CLUMSY[name])
    right, body = Head().put_right(whole)

    for at in range(len(whole) - len(body)):
        head = Head()
        (first, nothing), (second, rest) = head.put_right(whole[:at]), head.put_right(whole[at:])
        assert (first + second, nothing, rest) == (right, b"", body)


# --- What cannot be read even so ------------------------------------------------------------------

UNREADABLE = {
    b"SSH-2.0-OpenSSH_9.9\r\n": "Bad status line",
    b"HTTP/1.1 abc OK\r\n\r\n": "Invalid status code",
    answer(b"Content-Length: 1\r\nContent-Length: 2\r\n", b"ab"): "Duplicate Content-Length",
    answer(b"Content-Length: -1\r\n", b""): "Invalid character in Content-Length",
    answer(b"X: \0\r\n", b""): "Invalid HTTP header",
    answer(b"X: y\r\n" * HEAD_MAX, b""): "too much comes before the status",
    b"HTTP/1.1 200 OK\r\nX-Ha": "the connection ended within the head",
}


@pytest.mark.parametrize(("sent", "reason"), UNREADABLE.items(), ids=UNREADABLE.values())
def test_an_answer_that_is_not_read_says_why(sent: bytes, reason: str, settings: Any) -> None:
    def send_and_close(wire: Any) -> None:
        wire.sendall(sent)
        raise ConnectionAbortedError

    with receiver(send_and_close) as theirs:
        got = deliver(theirs, settings)

    assert (got.status, got.error) == (None, "connection_error")
    assert got.excerpt is not None
    assert got.excerpt.startswith("The answer was not read: ")
    assert reason in got.excerpt


def test_where_no_answer_came_nothing_is_said(settings: Any) -> None:
    def close(_wire: Any) -> None:
        raise ConnectionAbortedError

    with receiver(close) as theirs:
        assert deliver(theirs, settings).excerpt is None


def test_what_is_quoted_of_an_answer_is_masked(settings: Any) -> None:
    with receiver(b"card 4242 4242 4242 4242 charged\r\n\r\n") as theirs:
        got = deliver(theirs, settings)

    assert "charged" in (got.excerpt or "")
    assert "4242 4242" not in (got.excerpt or "")
