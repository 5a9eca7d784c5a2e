"""One attempt: what goes out, what its answer means, and where it may not go."""

import errno
import socket
import ssl
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stripe

from tests.stage.deliveries import BODY, SECRET, deliver, post
from tests.stage.receivers import OK, Authority, name_server, receiver, reset
from webhooks.delivery.http.connections import trusted_tls
from webhooks.delivery.http.sender import NotSent


@pytest.fixture(autouse=True)
def _time_enough(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 30.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def trusting(authority: Authority) -> list[ssl.SSLContext]:
    contexts = trusted_tls()
    for context in contexts:
        context.load_verify_locations(cadata=authority.pem)
    return contexts


def answering(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


# --- What goes out --------------------------------------------------------------------------------


def test_the_stored_bytes_go_out_signed(settings: Any) -> None:
    with receiver() as theirs:
        answer = deliver(theirs, settings)

    [request] = theirs.requests
    assert (answer.is_success, answer.status, answer.error) == (True, 200, None)
    assert request.body == BODY
    assert request.head[0] == "POST /hooks HTTP/1.1"
    stripe.Webhook.construct_event(request.body, request.headers["pf-signature"], SECRET)


def test_the_headers_are_those_of_the_contract_and_no_more(settings: Any) -> None:
    with receiver() as theirs:
        deliver(theirs, settings)

    fields = dict(theirs.requests[0].fields)
    assert fields.pop("PF-Signature").startswith("t=")
    assert fields == {
        "Host": theirs.host,
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json; charset=utf-8",
        "Content-Length": str(len(BODY)),
        "User-Agent": "PF-Webhooks/1.0",
        "PF-Event-Id": "evt_1",
        "PF-Delivery-Id": "whd_1",
    }


def test_the_address_is_asked_for_as_it_was_registered(settings: Any) -> None:
    target = "/a%7Eb/%c3%a7/x%2Fy/?q=a+b%20c&&d=%41&e"
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        [answer] = post(f"http://{theirs.host}{target}")

    assert answer.is_success
    assert theirs.requests[0].head[0] == f"POST {target} HTTP/1.1"


@pytest.mark.parametrize("odd", ["\r\nX-Odd: 1\r\n\r\n", " HTTP/1.1", "\x00", "\x7f", "ç"])
def test_no_address_ends_the_first_line(settings: Any, odd: str) -> None:
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        post(f"http://{theirs.host}/a{odd}b")

    for request in theirs.requests:
        assert request.head[0].isascii()
        assert request.head[0].count(" ") == 2
        assert "x-odd" not in request.headers


def test_no_proxy_of_the_environment_is_used(settings: Any, monkeypatch: Any) -> None:
    with receiver() as proxy, receiver() as theirs:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        answer = deliver(theirs, settings)

    assert answer.is_success
    assert proxy.connections == 0


def test_no_cookie_is_kept(settings: Any) -> None:
    with receiver(answering("200 OK", "Set-Cookie: a=1")) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        post(theirs.url, theirs.url)

    assert "cookie" not in theirs.requests[1].headers


# --- What the answer means ------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "204 No Content", "299 Fine"])
def test_any_2xx_is_a_success(settings: Any, status: str) -> None:
    with receiver(answering(status)) as theirs:
        answer = deliver(theirs, settings)

    assert (answer.is_success, answer.status) == (True, int(status[:3]))


@pytest.mark.parametrize("status", ["301 Moved", "404 None", "400 Bad", "410 Gone", "500 Oh"])
def test_any_other_status_is_a_failure(settings: Any, status: str) -> None:
    with receiver(answering(status, body=b"why")) as theirs:
        answer = deliver(theirs, settings)

    assert (answer.error, answer.status) == ("http_status", int(status[:3]))
    assert answer.was_reached


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_no_redirect_is_followed(settings: Any, status: str) -> None:
    with receiver() as elsewhere:
        location = f"Location: http://{elsewhere.host}/latest/meta-data"
        with receiver(answering(f"{status} Moved", location)) as theirs:
            answer = deliver(theirs, settings)
            settings.WEBHOOK_DEV_HOSTS += [elsewhere.host]
            also = post(theirs.url)[0]

    assert [answer.error, also.error] == ["http_status"] * 2
    assert elsewhere.connections == 0


def test_the_excerpt_is_the_beginning_of_the_answer(settings: Any) -> None:
    with receiver(answering("500 Oh", body=b"line \x00one\n" + b"x" * 1000)) as theirs:
        answer = deliver(theirs, settings)

    assert answer.excerpt == "line one\n" + "x" * 503


@pytest.mark.parametrize(
    "secret",
    [SECRET, "4242424242424242", "4242 4242\x00 4242 4242", '{"cvc":"987"}'],
    ids=["signing secret", "card number", "divided card number", "security code"],
)
def test_the_excerpt_is_masked(settings: Any, secret: str) -> None:
    with receiver(answering("400 Bad", body=f"you sent {secret} to us".encode())) as theirs:
        answer = deliver(theirs, settings)

    assert answer.excerpt is not None
    assert answer.excerpt.startswith("you sent")
    assert secret.replace("\x00", "") not in answer.excerpt


def test_half_a_card_number_at_the_cut_is_not_kept(settings: Any) -> None:
    body = b"\x00" * 2034 + b"a 42424242424242424242 and more"
    with receiver(answering("400 Bad", body=body)) as theirs:
        answer = deliver(theirs, settings)

    assert answer.excerpt == "a"


def test_no_answer_has_no_excerpt_and_an_empty_one_neither(settings: Any) -> None:
    with receiver(answering("204 No Content")) as theirs:
        assert deliver(theirs, settings).excerpt is None
    answer = deliver(theirs, settings)
    assert (answer.error, answer.excerpt, answer.status) == ("connection_error", None, None)
    assert not answer.was_reached


# --- Connections ----------------------------------------------------------------------------------


def test_a_connection_is_used_again(settings: Any) -> None:
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url, theirs.url)

    assert all(answer.is_success for answer in answers)
    assert theirs.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced_within_the_attempt(
    settings: Any,
) -> None:
    def answers_once_then_resets(wire: socket.socket) -> None:
        if len(theirs.requests) == 2:
            reset(wire)
        else:
            wire.sendall(OK)

    with receiver(answers_once_then_resets) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url)

    assert [answer.is_success for answer in answers] == [True, True]
    assert theirs.connections == 2


def test_a_new_connection_that_fails_is_not_tried_again(settings: Any) -> None:
    with receiver(reset) as theirs:
        answer = deliver(theirs, settings)

    assert answer.error == "connection_error"
    assert answer.was_reached
    assert theirs.connections == 1


def test_who_is_gone_since_the_connection_was_opened_was_not_reached(settings: Any) -> None:
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(theirs.url, theirs.url, between=theirs.hang_up)

    assert [answer.error for answer in answers] == [None, "connection_error"]
    assert not answers[1].was_reached


def test_an_answer_that_has_begun_is_not_asked_for_again(settings: Any) -> None:
    def breaks_off(wire: socket.socket) -> None:
        wire.sendall(OK if len(theirs.requests) == 1 else b"HTTP/1.1 200 OK\r\nX-Ha")
        if len(theirs.requests) > 1:
            wire.shutdown(socket.SHUT_RDWR)

    with receiver(breaks_off) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        post(theirs.url, theirs.url)

    assert len(theirs.requests) == 2


def test_only_so_many_connections_stay_open(settings: Any) -> None:
    settings.WEBHOOK_SLOTS = 2
    with receiver() as one, receiver() as two, receiver() as three:
        settings.WEBHOOK_DEV_HOSTS = [one.host, two.host, three.host]
        post(one.url, two.url, three.url, two.url, three.url, one.url)

    assert [theirs.connections for theirs in (one, two, three)] == [2, 1, 1]


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "ENOBUFS"])
def test_what_this_machine_lacks_is_no_attempt(settings: Any, monkeypatch: Any, error: str) -> None:
    number = getattr(errno, error)
    with receiver() as theirs, name_server(["93.184.215.14"]) as names:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        monkeypatch.setattr("webhooks.delivery.http.connections.socket", lacking(number))
        monkeypatch.setattr("webhooks.delivery.http.connections.Tap", lacking(number).socket)
        for url in (theirs.url, "https://acme.example/"):
            with pytest.raises(NotSent):
                post(url, dns=[names.address])

    assert theirs.connections == 0


def lacking(number: int) -> Any:
    """A `socket` module that opens none."""

    def refuse(*_place: Any) -> None:
        raise OSError(number, "none left")

    return SimpleNamespace(**vars(socket) | {"socket": refuse})


def test_a_look_up_without_a_socket_is_no_attempt(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.http.connections.socket", lacking(errno.EMFILE))
    with name_server([]) as names, pytest.raises(NotSent):
        post("https://acme.example/", dns=[names.address])


# --- TLS ------------------------------------------------------------------------------------------


def test_a_certificate_that_is_trusted_is_accepted(authority: Authority, settings: Any) -> None:
    with receiver(tls=authority.server()) as theirs:
        answer = deliver(theirs, settings, tls=trusting(authority))

    assert answer.is_success


@pytest.mark.parametrize(
    ("host", "days", "is_trusted"),
    [("127.0.0.1", 30, False), ("other.example", 30, True), ("127.0.0.1", -1, True)],
    ids=["of nobody's authority", "of another name", "over"],
)
def test_a_bad_certificate_is_refused(
    host: str, days: int, is_trusted: bool, authority: Authority, settings: Any
) -> None:
    with receiver(tls=authority.server(host, days=days)) as theirs:
        tls = trusting(authority) if is_trusted else None
        answer = deliver(theirs, settings, tls=tls)

    assert answer.error == "tls_error"
    assert theirs.requests == []


def test_old_tls_is_refused(authority: Authority, settings: Any) -> None:
    old = authority.server()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with receiver(tls=old) as theirs:
        answer = deliver(theirs, settings, tls=trusting(authority))

    assert (answer.error, theirs.requests) == ("tls_error", [])
