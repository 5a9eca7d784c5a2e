"""Redis gone, silent, or back again: payments go on, and nobody waits for it (I13)."""

import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import pytest
from celery import Celery
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.celery import app as celery
from core import limits, redis
from core.redis_connections import BUDGET_SECONDS
from devstack.servers import Servers
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import confirmation, payment, unconfirmed
from tests.stage.own_ports import refusing_port
from tests.stage.redis_places import OwnRedis, listener, redis_at, swallower
from vault import cvc

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
CVC_MISSING = (400, "parameter_missing", "payment_method_data[card][cvc]")
TOKEN = "tok_0VvT000000000000000000aa"
# A hang is ended after this.
HANG_SECONDS = 60


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnRedis]:
    """A Redis that this test may hurt, and that the service uses meanwhile."""
    own = OwnRedis(tmp_path)
    with redis_at(own.url):
        yield own
    own.kill()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe after a moment instead of two seconds."""
    monkeypatch.setattr(redis, "OPEN_SECONDS", 0.2)


def is_there() -> bool:
    try:
        return redis.call(lambda client: client.ping())
    except redis.Away:
        return False


def come_back() -> None:
    """Wait until a probe found Redis."""
    at_last(lambda: redis.call(lambda client: client.ping()))


def at_last(asked: Callable[[], Any]) -> Any:
    """Return the first answer; on a busy machine the first tries may be given up as too late."""
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        with suppress(redis.Away):
            return asked()
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- How long a command takes ------------------------------------------------------------


def greeting() -> Iterator[str]:
    """Something answers, but it is no Redis."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_greet, args=(server,), daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def _greet(server: socket.socket) -> None:
    while True:
        try:
            with server.accept()[0] as wire:
                wire.sendall(b"220 mail.example ESMTP\r\n")
        except OSError:
            return


@pytest.fixture(
    params=[
        "refused",
        "silent",
        "with a password",
        "swallowed",
        "silent TLS",
        "greeting",
        "no socket",
        "socket",
    ]
)
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An address where Redis is not."""
    match request.param:
        case "refused":
            with refusing_port() as port:
                yield f"redis://127.0.0.1:{port}"
        case "silent":
            with listener() as port:
                yield f"redis://127.0.0.1:{port}"
        case "with a password":
            with listener() as port:
                yield f"redis://pay:secret@localhost:{port}/3"
        case "swallowed":
            with swallower() as port:
                yield f"redis://127.0.0.1:{port}"
        case "silent TLS":
            with listener() as port:
                yield f"rediss://127.0.0.1:{port}"
        case "greeting":
            yield from greeting()
        case "no socket":
            yield f"unix://{tmp_path}/nobody.sock"
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(f"{tmp_path}/s")
                server.listen()
                yield f"unix://{tmp_path}/s"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each command that Redis itself was asked; the circuit stays open."""
    asked, client = [], redis.client

    def noted() -> Redis:
        asked.append("asked")
        return client()

    noted.cache_clear = client.cache_clear
    monkeypatch.setattr(redis, "client", noted)
    monkeypatch.setattr(redis, "OPEN_SECONDS", 3600)
    return asked


def assert_ten_fail_of_which_three_ask(asked: list[str]) -> None:
    """Ask ten times where nobody answers, who is asked for 100 ms and then not at all."""
    for _ in range(10):
        assert not is_there()
    assert len(asked) == 3


def test_a_command_fails_although_nobody_answers_and_the_fourth_at_once(
    nowhere: str, asked: list[str]
) -> None:
    with redis_at(nowhere):
        assert_ten_fail_of_which_three_ask(asked)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The longest time, in seconds, that each step on a socket was allowed to take."""
    allowed: list[float | None] = []
    for step in ("connect", "sendall", "recv", "recv_into"):
        real = getattr(socket.socket, step)

        def noted(wire: socket.socket, *given: Any, real: Any = real) -> Any:
            allowed.append(wire.gettimeout())
            return real(wire, *given)

        monkeypatch.setattr(socket.socket, step, noted)
    return allowed


@pytest.mark.parametrize("nowhere", ["swallowed", "socket"], indirect=True)
def test_no_step_of_a_command_may_take_longer_than_its_budget(
    nowhere: str, waits: list[float | None]
) -> None:
    with redis_at(nowhere):
        assert not is_there()

    print(f"{len(waits)} steps")  # noqa: T201
    assert waits
    assert all(seconds is not None and seconds <= BUDGET_SECONDS for seconds in waits)


def test_a_silent_resolver_takes_no_longer(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    may_answer, has_answered = Event(), Event()

    def silent(*_arguments: Any, **_options: Any) -> list:
        may_answer.wait(HANG_SECONDS)
        has_answered.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)

    with redis_at("redis://redis.internal:6379"):
        assert_ten_fail_of_which_three_ask(asked)
    assert not has_answered.is_set()
    may_answer.set()


def test_an_address_that_swallows_everything_leaves_time_for_the_next(
    own: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with swallower() as port:
        places = [("127.0.0.1", port), ("127.0.0.1", int(own.url.split(":")[2][:-2]))]
        monkeypatch.setattr("core.redis_connections._addresses", lambda *_, **__: places)

        assert is_there()


def assert_each_command_connects_once(server: socket.socket) -> None:
    """Ask ten times; of those that ask at all each may connect once to the silent server."""
    assert not any(is_there() for _ in range(10))
    connections = 0
    server.setblocking(False)
    with suppress(BlockingIOError):
        while server.accept()[0].close() is None:
            connections += 1
    assert connections == 3


@pytest.mark.usefixtures("asked")
def test_a_command_is_tried_once() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, redis_at(f"redis://127.0.0.1:{server.getsockname()[1]}"):
        assert_each_command_connects_once(server)


def test_the_check_sees_a_client_that_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = {"socket_timeout": 0.1, "retry": Retry(NoBackoff(), 2)}
        stubborn = Redis(host="127.0.0.1", port=server.getsockname()[1], **options)
        monkeypatch.setattr(redis, "client", lambda: stubborn)

        with pytest.raises(AssertionError):
            assert_each_command_connects_once(server)


# --- Back again --------------------------------------------------------------------------


def test_a_restarted_redis_costs_no_command(own: OwnRedis) -> None:
    for _ in range(3):
        assert is_there()
        own.kill()
        own.start()

        assert is_there()


def test_a_late_answer_is_not_taken_for_the_next_one(own: OwnRedis) -> None:
    redis.call(lambda client: client.mset({"a": "of a", "b": "of b"}))
    own.pause()
    with pytest.raises(redis.Away):
        redis.call(lambda client: client.get("a"))

    own.resume()

    assert at_last(lambda: redis.call(lambda client: client.get("b"))) == b"of b"


@pytest.mark.parametrize("way", ["kill", "pause"])
@pytest.mark.usefixtures("soon")
def test_when_redis_comes_back_limits_and_cvcs_work_again(
    own: OwnRedis, way: str, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.RATE_LIMIT_PER_SECOND = 25
    getattr(own, way)()
    for _ in range(100):
        limits.count_request("mer_acme")
        cvc.hold(TOKEN, "987")
        assert cvc.look(TOKEN) is None

    own.start() if way == "kill" else own.resume()
    come_back()

    cvc.hold(TOKEN, "987")
    assert cvc.look(TOKEN) == "987"
    for _ in range(25):
        limits.count_request("mer_acme")
    with pytest.raises(limits.RateLimited):
        limits.count_request("mer_acme")
    assert re.findall(r"circuit_\w+", caplog.text) == ["circuit_opened", "circuit_closed"]


def test_a_redis_that_is_full_is_away_for_those_who_write(own: OwnRedis) -> None:
    redis.client().config_set("maxmemory", 1)

    cvc.hold(TOKEN, "987")

    assert cvc.look(TOKEN) is None


# --- Payments meanwhile ------------------------------------------------------------------


@pytest.fixture
def _no_task_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("a request may not wait for the broker")

    monkeypatch.setattr(Celery, "send_task", refuse)


def business(acme: ApiClient) -> Iterator[Callable[[], Answer]]:
    """One of everything that a merchant does, with a card that is given when it is needed."""
    yield lambda: acme.post(PATH, payment(), idempotency_key="k")
    yield lambda: acme.post(PATH, payment(), idempotency_key="k")
    created: list[str] = []
    yield lambda: _remember(acme.post(PATH, unconfirmed()), created)
    yield lambda: acme.post(f"{PATH}/{created[0]}/confirm", confirmation())
    yield lambda: acme.payment(created[0])
    yield lambda: acme.post("/v1/customers", {"email": "ada@example.com"})
    for path in ("/v1/events", "/v1/balance", "/v1/merchant"):
        yield lambda path=path: acme.get(path)
    yield acme.pay


def _remember(answer: Answer, created: list[str]) -> Answer:
    created.append(answer["id"])
    return answer


@pytest.mark.parametrize("way", ["refused", "silent"])
@pytest.mark.usefixtures("_no_task_is_sent")
def test_payments_and_reads_go_on_without_redis_and_hardly_wait(
    acme: ApiClient, bank: BankTransport, asked: list[str], way: str, settings: Any
) -> None:
    settings.RATE_LIMIT_PER_SECOND = 100
    with listener() as silent, redis_at(f"redis://127.0.0.1:{silent if way == 'silent' else 1}"):
        answers = [call() for call in [*business(acme), *business(acme.twin())]]
        assert len(asked) == 3

    assert Counter(answer.status for answer in answers) == {200: 20}
    assert captured_by_bank(acme) == acme.pending() == 5 * 12500


@pytest.mark.parametrize("gone_at", ["create", "confirm"])
def test_a_stored_card_whose_cvc_redis_lost_asks_for_it_again(
    acme: ApiClient, bank: BankTransport, own: OwnRedis, gone_at: str
) -> None:
    if gone_at == "create":
        own.kill()
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm"
    if gone_at == "confirm":
        own.kill()

    assert acme.post(path).refusal == CVC_MISSING
    assert acme.post(path, confirmation())["status"] == "succeeded"


# --- Background work ---------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?db=2"])
@pytest.mark.parametrize("password", ["", "s3:cret"])
def test_the_broker_is_where_all_else_in_redis_is(password: str, query: str) -> None:
    servers = Servers.throw_away()
    try:
        place = servers.start_valkey().removeprefix("unix://")
        Redis(unix_socket_path=place).config_set("requirepass", password)
        who = f":{quote(password, safe='')}@" if password else ""
        url = f"unix://{who}{place}{query}"

        Celery("tests", broker=redis.broker_url(url), set_as_current=False).send_task("some")

        assert Redis.from_url(url).llen("celery") == 1
    finally:
        servers.stop()


def test_workers_and_beat_try_for_ever_to_reach_the_broker() -> None:
    settings = celery.conf

    assert settings.broker_connection_retry
    assert settings.broker_connection_retry_on_startup
    assert settings.broker_connection_max_retries is None


def test_workers_and_beat_notice_a_broker_that_is_gone_without_a_word() -> None:
    options = celery.conf.broker_transport_options

    assert 0 < options["socket_timeout"] <= 10
    assert 0 < options["socket_connect_timeout"] <= 10
    assert options["socket_keepalive"]
