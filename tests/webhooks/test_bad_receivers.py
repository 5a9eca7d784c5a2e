"""Receivers that do everything wrong: each attempt ends in time, and memory stays flat."""

import resource
import zlib
from threading import Event
from typing import Any

import pytest

from tests.stage import receivers
from tests.stage.deliveries import deliver, post
from tests.stage.receivers import Behaviour, receiver
from webhooks.delivery.http import excerpts
from webhooks.delivery.http.excerpts import READ_BYTES, excerpt

MEMORY_SLACK_KIB = 32 * 1024
# For receivers that are found out by it, and for all others: a busy machine is none of them.
SHORT_SECONDS, LONG_SECONDS = 0.3, 30.0
# A hang is ended after this.
PATIENCE_SECONDS = 60


def bomb(megabytes: int) -> bytes:
    # Bit by bit: this process's most memory is what the tests look at.
    packer = zlib.compressobj(wbits=31)
    return b"".join(packer.compress(b"0" * 2**20) for _ in range(megabytes)) + packer.flush()


BOMB = bomb(100)
BOMB_HEAD = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)


def writes(data: bytes) -> Behaviour:
    return lambda wire: wire.sendall(data)


def writes_and_closes(data: bytes) -> Behaviour:
    def answer(wire: Any) -> None:
        wire.sendall(data)
        raise ConnectionAbortedError

    return answer


# Each with the error of its delivery, or None where the status line has decided already.
BAD: dict[str, tuple[Behaviour, str | None]] = {
    "never answers": (receivers.never, "timeout"),
    "drips its head": (receivers.drips_its_head, "timeout"),
    "drips its body": (receivers.drips_its_body, None),
    "ten gigabytes": (receivers.ten_gigabytes, None),
    "gzip bomb": (writes(BOMB_HEAD + BOMB), None),
    "endless headers": (receivers.endless_headers, "connection_error"),
    "an endless line": (receivers.an_endless_line, "connection_error"),
    "endless continues": (receivers.endless_continues, "connection_error"),
    "resets its body": (receivers.resets_its_body, None),
    "resets": (receivers.reset, "connection_error"),
    "closes": (writes_and_closes(b""), "connection_error"),
    "closes in its head": (writes_and_closes(b"HTTP/1.1 200 OK\r\nX-Ha"), "connection_error"),
    "closes in its body": (
        writes_and_closes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
        None,
    ),
    "no HTTP": (writes_and_closes(b"SSH-2.0-OpenSSH_9.9\r\n"), "connection_error"),
    "no status": (writes_and_closes(b"HTTP/1.1 abc OK\r\n\r\n"), "connection_error"),
    "a huge status": (writes_and_closes(b"HTTP/1.1 99999 OK\r\n\r\n"), "connection_error"),
    "two lengths": (
        writes_and_closes(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        "connection_error",
    ),
    "a negative length": (
        writes_and_closes(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        "connection_error",
    ),
    "NULs in its head": (
        writes_and_closes(b"HTTP/1.1 200 OK\r\nX: \x00\x00\r\n\r\n"),
        "connection_error",
    ),
    "NULs in its body": (
        writes(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x00a\x00b"),
        None,
    ),
    "broken chunks": (
        writes_and_closes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        None,
    ),
    "broken chunks, kept open": (
        writes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        None,
    ),
    "broken chunks after a refusal": (
        writes(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        "http_status",
    ),
    "switches protocols": (
        writes(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
        "http_status",
    ),
    "no letters at all": (writes_and_closes(b"\x00" * 5000), "connection_error"),
}


@pytest.mark.parametrize(("behaviour", "error"), BAD.values(), ids=BAD)
def test_an_attempt_ends_in_time(
    behaviour: Behaviour, error: str | None, settings: Any, monkeypatch: Any
) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = SHORT_SECONDS if error == "timeout" else LONG_SECONDS
    monkeypatch.setattr("webhooks.delivery.http.sender.BODY_SECONDS", 0.1)
    ends(behaviour, error, settings)


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize(("behaviour", "error"), BAD.values(), ids=BAD)
def test_an_attempt_ends_in_ten_seconds(
    behaviour: Behaviour, error: str | None, settings: Any
) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 10.0
    ends(behaviour, error, settings)


def ends(behaviour: Behaviour, error: str | None, settings: Any) -> None:
    before = most_memory_kib()

    with receiver(behaviour) as theirs:
        answer = deliver(theirs, settings)

    assert answer.error == error, answer
    # That it is over is the fact: each of them goes on, if it is let.
    assert answer.excerpt is None or "\x00" not in answer.excerpt
    assert most_memory_kib() - before < MEMORY_SLACK_KIB


def most_memory_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("name", ["ten gigabytes", "gzip bomb", "drips its body"])
def test_a_connection_with_an_answer_still_in_it_is_not_used_again(
    name: str, settings: Any
) -> None:
    behaviour, _error = BAD[name]
    settings.WEBHOOK_TIMEOUT_SECONDS = LONG_SECONDS

    with receiver(behaviour) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url)

    assert all(answer.is_success for answer in answers)
    assert theirs.connections == 2


def test_an_answer_nobody_asked_for_is_not_taken_for_the_next_one(settings: Any) -> None:
    two = receivers.OK + b"HTTP/1.1 500 Not asked for\r\nContent-Length: 0\r\n\r\n"
    with receiver(two) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url)

    assert [answer.status for answer in answers] == [200, 200]


def test_nor_is_one_that_comes_while_the_connection_rests(settings: Any) -> None:
    is_at_rest, came = Event(), Event()

    def answers_twice(wire: Any) -> None:
        if came.is_set():
            wire.sendall(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")
        else:
            wire.sendall(receivers.OK)
            is_at_rest.wait(PATIENCE_SECONDS)
            wire.sendall(receivers.OK)
            came.set()

    with receiver(answers_twice) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url, between=is_at_rest.set, may_go_on=came.is_set)

    assert [answer.status for answer in answers] == [200, 500]


def test_of_a_long_body_only_the_beginning_is_searched_for_secrets(monkeypatch: Any) -> None:
    searched = list[str]()
    monkeypatch.setattr(excerpts, "scrub", lambda text: searched.append(text) or text)

    excerpt(b"1a" * READ_BYTES, is_whole=False)

    assert searched == ["1a" * (READ_BYTES // 2)]
