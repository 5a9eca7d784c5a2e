"""Receivers that attack: each is cut off, costs little, and keeps nobody else's deliveries."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import Any

import pytest

from bench import webhooks_authority
from bench.webhooks_authority import Certificates
from tests.stage import forged_tls
from tests.stage.deliveries import deliver, delivery, post, real_now
from tests.stage.draining import PATIENCE_SECONDS, draining, endpoint_at, tell, until
from tests.stage.hostile_receivers import KINDS, Hostile, Kind, Line
from tests.stage.receivers import OK, receiver
from webhooks.delivery.http import connections, wires
from webhooks.delivery.http.connections import CURVES, trusted_tls
from webhooks.delivery.http.sender import Sender
from webhooks.delivery.http.wires import Tap
from webhooks.models import Delivery, Endpoint

# Buffers on the way hold so much; the rest of what went out was read by the sender.
BUFFERS = 512 * 1024
# The allowed bytes of a handshake and of an answer; a look at those that came may find too many.
READ_BYTES = wires.HANDSHAKE_MAX + wires.ANSWER_MAX + 2 * wires.READ_AT_ONCE
# For receivers that are found out before: a busy machine is no silent receiver.
LONG_SECONDS, LEASE_SECONDS = 30.0, 60.0
# For receivers that are found out by it.
SHORT_SECONDS = 0.3


@pytest.fixture(autouse=True)
def _nobody_is_late(settings: Any, monkeypatch: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = LONG_SECONDS
    settings.WEBHOOK_LEASE_SECONDS = LEASE_SECONDS
    # Whether our own network is gone is not the question here.
    monkeypatch.setattr("webhooks.delivery.drain.HOLD_SECONDS", 0.1)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: Any) -> Certificates:
    return webhooks_authority.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def trusting(certificates: Certificates) -> list[ssl.SSLContext]:
    contexts = trusted_tls()
    for context in contexts:
        context.load_verify_locations(cafile=certificates.authority)
    return contexts


@pytest.fixture
def hostile(certificates: Certificates) -> Iterator[Callable[[str], Hostile]]:
    opened: list[Hostile] = []

    def open_one(name: str) -> Hostile:
        certificate = getattr(certificates, KINDS[name].tls or "trusted")
        opened.append(Hostile(KINDS[name], certificate))
        return opened[-1]

    yield open_one
    for theirs in opened:
        theirs.close()


def told(theirs: Any, settings: Any, *, objects: int) -> Endpoint:
    """Return the endpoint of a new merchant, with so many deliveries due."""
    endpoint = endpoint_at(theirs, settings)
    for number in range(objects):
        tell(endpoint.merchant, f"cus_{number}")
    return endpoint


def attempts(endpoint: Endpoint) -> list[Delivery]:
    return list(Delivery.objects.filter(endpoint=endpoint, attempted_at__isnull=False))


# --- Each kind ------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", KINDS)
def test_a_hostile_receiver_is_cut_off_and_keeps_nobody(
    name: str, hostile: Any, settings: Any, trusting: list[ssl.SSLContext]
) -> None:
    theirs, kind = hostile(name), KINDS[name]
    be_short_with(kind, settings)
    with receiver() as healthy:
        bad, good = told(theirs, settings, objects=9), told(healthy, settings, objects=1)
        with draining(sender=partial(Sender, tls=trusting)):
            until(lambda: len(attempts(bad)) == 9 and attempts(good), seconds=60)
            until(lambda: all(line.is_ended for line in theirs.lines))

    assert {(went.status, went.response_status, went.error) for went in attempts(bad)} == {
        ("failed" if kind.error else "succeeded", kind.status, kind.error)
    }
    assert max(line.sent for line in theirs.lines) < BUFFERS
    # The ninth begins when one of the eight before it is over.
    assert attempts(good)[0].attempted_at < max(attempt.attempted_at for attempt in attempts(bad))


def be_short_with(kind: Kind, settings: Any) -> None:
    """Let an attempt that ends by its time alone end soon."""
    if kind.error == "timeout":
        settings.WEBHOOK_TIMEOUT_SECONDS = SHORT_SECONDS


@pytest.mark.parametrize("name", KINDS)
def test_of_a_hostile_receiver_little_is_read(
    name: str, hostile: Any, settings: Any, trusting: list[ssl.SSLContext], monkeypatch: Any
) -> None:
    spend, read = Tap._spend, list[int]()

    def noted(tap: Tap, count: int) -> None:
        read.append(count)
        spend(tap, count)

    monkeypatch.setattr(Tap, "_spend", noted)
    be_short_with(KINDS[name], settings)

    deliver(hostile(name), settings, tls=trusting)

    assert sum(read) <= READ_BYTES
    assert max(read, default=0) <= wires.READ_AT_ONCE


# --- Each bound -----------------------------------------------------------------------------------

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def answer_of(head_bytes: int) -> bytes:
    """Return an answer whose head is so long."""
    begin, end = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", b"\r\n"
    fields, rest = divmod(head_bytes - len(begin + end), 1000)
    lines = [b"X-A: " + b"a" * 993 + b"\r\n"] * (fields - 1)
    lines += [b"X-A: " + b"a" * (993 + rest) + b"\r\n"]
    return begin + b"".join(lines) + end


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (CONTINUE * wires.INTERIM_MAX + OK, None),
        (CONTINUE * (wires.INTERIM_MAX + 1) + OK, "connection_error"),
        (answer_of(wires.HEAD_MAX), None),
        (answer_of(wires.HEAD_MAX + 1), "connection_error"),
        (CONTINUE + answer_of(wires.HEAD_MAX), "connection_error"),
    ],
    ids=["a few answers", "too many", "a long head", "too long", "too long in all"],
)
def test_so_much_may_come_before_the_status(
    answer: bytes, error: str | None, settings: Any
) -> None:
    with receiver(answer) as theirs:
        assert deliver(theirs, settings).error == error


def test_each_answer_on_a_kept_connection_may_have_as_much(settings: Any) -> None:
    with receiver(CONTINUE * wires.INTERIM_MAX + answer_of(wires.HEAD_MAX // 2)) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        answers = post(*[theirs.url] * 10)

    assert {answer.status for answer in answers} == {200}
    assert theirs.connections == 1


def test_one_turn_reads_little_of_what_is_there() -> None:
    with receiver() as theirs, Tap(socket.AF_INET, socket.SOCK_STREAM, 0) as ours:
        ours.connect(("127.0.0.1", theirs.port))
        theirs.answer = lambda wire: wire.sendall(b"x" * 50_000)
        ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
        ours.recv(50_000, socket.MSG_PEEK | socket.MSG_WAITALL)

        assert len(ours.recv(50_000)) == wires.READ_AT_ONCE
        assert ours.recv_into(bytearray(50_000)) == wires.READ_AT_ONCE


def test_a_connection_at_rest_is_closed_when_something_comes(settings: Any) -> None:
    is_at_rest, ended = Event(), Event()

    def goes_on(wire: socket.socket) -> None:
        wire.sendall(OK)
        is_at_rest.wait(PATIENCE_SECONDS)
        wire.sendall(CONTINUE)
        ended.set() if not wire.recv(1) else None

    async def post_and_rest(url: str) -> None:
        async with Sender(now=real_now) as sender:
            await sender.post(delivery(url))
            is_at_rest.set()
            assert await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)

    with receiver(goes_on) as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        asyncio.run(post_and_rest(theirs.url))


# --- TLS ------------------------------------------------------------------------------------------


def test_no_second_handshake_is_begun(
    certificates: Certificates, settings: Any, trusting: list[ssl.SSLContext]
) -> None:
    heard = []

    def ask_for_one(line: Line) -> None:
        records = forged_tls.hello_requests(line.wire, line.certificate)
        line.send(next(records))
        with line.wire.makefile("rb") as file:
            # The request, and what the sender answers to that.
            for _ in range(2):
                head = file.read(5)
                heard.append(head[0])
                file.read(int.from_bytes(head[3:]))

    theirs = Hostile(Kind(ask_for_one, "trusted", None, None), certificates.trusted)
    deliver(theirs, settings, tls=trusting)
    theirs.close()

    assert sorted(heard) == [forged_tls.ALERT, forged_tls.APPLICATION]


def test_no_receiver_can_ask_for_a_costly_key_exchange() -> None:
    exchanges = {cipher["kea"] for tls in trusted_tls() for cipher in tls.get_ciphers()}

    assert exchanges == {"kx-any", "kx-ecdhe"}


def test_a_curve_that_this_python_cannot_offer_is_left_out(monkeypatch: Any) -> None:
    # A known curve that is none of TLS's is refused by each Python as X25519 is by Debian 12's.
    monkeypatch.setattr(connections, "CURVES", ("prime256v1", "prime239v1", "secp384r1"))

    assert len(trusted_tls()) == 2


@pytest.mark.parametrize(("tries", "curve"), list(enumerate(CURVES, 1)))
def test_a_receiver_may_have_any_one_of_the_common_curves(
    tries: int, curve: str, certificates: Any, settings: Any, trusting: Any
) -> None:
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificates.trusted)
    theirs.set_ecdh_curve(curve)
    with receiver(tls=theirs) as healthy:
        settings.WEBHOOK_DEV_HOSTS = [healthy.host]
        answers = post(healthy.url, healthy.url, tls=trusting)

    assert [answer.status for answer in answers] == [200, 200]
    assert healthy.connections == tries, "one is found, and kept"
