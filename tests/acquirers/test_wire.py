"""The wire to a bank: what was certainly not sent, what is in doubt, and how long it may take."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import requests

from acquirers import wire
from tests.stage.own_ports import refusing_port

Script = Callable[[socket.socket], Any]

GOOD = b'{"result": "approved"}'


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with wire.new_session() as session:
        yield session


def http(content: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(content)
    return b"HTTP/1.1 %s\r\n%s%s\r\n%s" % (status, length, headers, content)


def sends(answer: bytes) -> Script:
    return lambda link: link.sendall(answer)


@contextmanager
def bank_on_a_socket(*scripts: Script) -> Iterator[str]:
    """Give each request, in turn, to a script that may do to the connection what it likes."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=_serve, args=(door, scripts))
        thread.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            thread.join()


def _serve(door: socket.socket, scripts: tuple[Script, ...]) -> None:
    door.settimeout(3)
    link, _ = door.accept()
    with link, suppress(OSError):
        for script in scripts:
            _take_request(link)
            script(link)


def _take_request(link: socket.socket) -> None:
    link.settimeout(3)
    taken = link.recv(65536)
    while taken.startswith(b"POST") and b'"number"' not in taken:
        taken += link.recv(65536)


def post(session: requests.Session, url: str, seconds: float = 3.0) -> Any:
    return wire.post_json(session, url, {"number": "4242424242424242"}, seconds=seconds)


# --- Certainly not sent -----------------------------------------------------------------------


def test_a_refused_connection_is_not_sent(session: requests.Session) -> None:
    with refusing_port() as port, pytest.raises(wire.NotSent):
        post(session, f"http://127.0.0.1:{port}")


def test_a_name_that_does_not_resolve_is_not_sent(
    session: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_args: Any, **_kwargs: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(wire.NotSent):
        post(session, "http://bank.invalid")


def test_a_connection_that_times_out_is_not_sent(
    session: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(*_args: Any) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket.socket, "connect", time_out)

    with pytest.raises(wire.NotSent):
        post(session, "http://127.0.0.1:9")


def test_a_failed_tls_handshake_is_not_sent(session: requests.Session) -> None:
    with bank_on_a_socket(sends(http(GOOD))) as url, pytest.raises(wire.NotSent):
        post(session, url.replace("http:", "https:"))


def test_an_address_that_is_none_is_not_sent(session: requests.Session) -> None:
    with pytest.raises(wire.NotSent):
        post(session, "/authorizations")


# --- Sent, and in doubt -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not http at all",
        http(b""),
        http(b"<html>"),
        http(b"\xff\xfe"),
        http(b"[" * 60_000),
        http(GOOD, b"500 Internal Server Error"),
        http(GOOD, b"400 Bad Request"),
        http(GOOD, b"201 Created"),
        http(GOOD)[:-5],
        http(GOOD + b" " * 65_536),
    ],
    ids=lambda answer: repr(answer[:15] + answer[-7:]),
)
def test_only_a_whole_readable_200_is_an_answer(answer: bytes, session: requests.Session) -> None:
    with bank_on_a_socket(sends(answer)) as url, pytest.raises(wire.NoAnswer):
        post(session, url)


def test_a_redirect_is_not_followed(session: requests.Session) -> None:
    with bank_on_a_socket(sends(http(GOOD))) as elsewhere:
        location = b"Location: %s\r\n" % elsewhere.encode()
        with (
            bank_on_a_socket(sends(http(b"", b"307 Temporary Redirect", location))) as url,
            pytest.raises(wire.NoAnswer),
        ):
            post(session, url)

        # It answers its first request only: had the redirect been followed, this would be refused.
        assert post(session, elsewhere) == {"result": "approved"}


def test_connections_are_kept(session: requests.Session) -> None:
    with bank_on_a_socket(sends(http(GOOD)), sends(http(GOOD))) as url:
        assert post(session, url) == post(session, url) == {"result": "approved"}


def test_a_kept_connection_that_breaks_is_doubt_and_is_not_tried_again(
    session: requests.Session,
) -> None:
    with bank_on_a_socket(sends(http(GOOD)), lambda link: link.close()) as url:
        post(session, url)

        with pytest.raises(wire.NoAnswer):
            post(session, url)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX: ", http(GOOD)[:-15]])
def test_a_bank_that_drips_does_not_hold_the_request(
    start: bytes, session: requests.Session
) -> None:
    has_dripped_to_the_end = threading.Event()

    def drip(link: socket.socket) -> None:
        link.sendall(start)
        for _ in range(200):
            time.sleep(0.1)
            link.sendall(b" " if start else b"H")
        has_dripped_to_the_end.set()

    with bank_on_a_socket(drip) as url:
        with pytest.raises(wire.NoAnswer):
            post(session, url, seconds=0.4)
        assert not has_dripped_to_the_end.is_set()


def test_the_failure_does_not_carry_the_card(session: requests.Session) -> None:
    with (
        bank_on_a_socket(sends(http(b"<html>"))) as url,
        pytest.raises(wire.NoAnswer) as failure,
    ):
        post(session, url)

    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__
    assert "4242424242424242" not in repr(failure.value)
