"""Rate limits: requests of each merchant, and failed authentications by address (contract 5)."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv6Address
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.http import HttpRequest
from django.test import override_settings
from redis import Redis

from core import limits, redis
from core.http import client_address
from merchants import keys
from merchants.models import ApiKey, IdempotencyKey
from payments.intents.models import PaymentIntent
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment
from tests.stage.own_ports import refusing_port
from tests.stage.redis_places import redis_at
from tests.stage.refusals import assert_envelope, raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LIMITED = (429, "rate_limit", None)
SANDBOX_LIMIT, LIVE_LIMIT = 25, 100
SOMEBODY, NEIGHBOUR = "203.0.113.7", "203.0.113.8"


class RedisClock:
    """Redis' clock, as the limits read it: it stands still until a test lets it go on."""

    NAME = "test:clock"

    def __init__(self, patient_redis: Redis) -> None:
        self._redis, self.seconds = patient_redis, float(int(time.time()))
        self.go_on(0)

    def go_on(self, seconds: float) -> None:
        self.seconds += seconds
        whole, part = divmod(round(self.seconds * 1_000_000), 1_000_000)
        self._redis.delete(self.NAME)
        self._redis.rpush(self.NAME, whole, part)


@pytest.fixture
def clock(patient_redis: Redis, monkeypatch: pytest.MonkeyPatch) -> RedisClock:
    stopped = f"redis.call('LRANGE', '{RedisClock.NAME}', 0, -1)"
    of_clock = limits.COUNT.replace("redis.call('TIME')", stopped)
    # Counts that would vanish by real time stay.
    monkeypatch.setattr(limits, "COUNT", of_clock.replace("ARGV[2] * 1000 + 1", "600000"))
    return RedisClock(patient_redis)


@pytest.fixture
def limited(settings: Any, clock: RedisClock) -> None:
    """A sandbox that has its limit on."""
    settings.RATE_LIMIT_PER_SECOND = SANDBOX_LIMIT


def used_up(client: ApiClient, but: int = 0) -> ApiClient:
    """Let the client's merchant make all the requests of a second, but so many."""
    for _ in range(SANDBOX_LIMIT - but):
        limits.count_request(client.merchant.id)
    return client


def is_let_through(merchant_id: str = "mer_racer") -> bool:
    try:
        limits.count_request(merchant_id)
    except limits.RateLimited:
        return False
    return True


def from_address(address: str, authorization: str = "Bearer sk_sandbox_x") -> Answer:
    headers = {"authorization": authorization} if authorization else {}
    return raw("GET", "/v1/balance", headers=headers, REMOTE_ADDR=address)


def guesses(times: int, address: str = SOMEBODY) -> Counter:
    return Counter(from_address(address).status for _ in range(times))


# --- How many ----------------------------------------------------------------------------


def race(calls: list[Callable[[], bool]], *, each: int) -> None:
    """Make all the calls within a second, again and again, and check how many got through."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], bool]) -> list[bool]:
        barrier.wait(20)
        try:
            return [call() for _ in range(each)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        passed = sum(map(sum, pool.map(run, calls)))
    print(f"{len(calls) * each} tried: {passed} let through")  # noqa: T201
    assert passed >= SANDBOX_LIMIT
    assert passed <= SANDBOX_LIMIT, "too many were let through"


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
@pytest.mark.usefixtures("limited")
def test_of_200_requests_at_once_as_many_pass_as_the_limit_says(acme: ApiClient) -> None:
    twins = [acme.twin() for _ in range(20)]

    race([lambda c=c: c.get("/v1/balance").status == 200 for c in twins], each=10)


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.usefixtures("limited")
def test_of_1000_counts_at_once_as_many_pass_as_the_limit_says(turn: int) -> None:
    race([is_let_through] * 40, each=25)


@pytest.mark.usefixtures("limited")
def test_the_check_sees_a_count_that_is_not_atomic(monkeypatch: pytest.MonkeyPatch) -> None:
    all_have_looked = Barrier(80)

    def wait_of(name: str, *, limit: int, seconds: int) -> int:
        count = int(redis.client().get(name) or 0)
        all_have_looked.wait(20)
        if count >= limit:
            return seconds
        redis.client().incr(name)
        redis.client().expire(name, seconds)
        return 0

    monkeypatch.setattr(limits, "_wait_of", wait_of)

    with pytest.raises(AssertionError, match="too many"):
        race([is_let_through] * 80, each=1)


def assert_no_second_has_more_than(limit: int, clock: RedisClock) -> None:
    """Try for two seconds, by each half of one more than may pass, and look at every second."""
    passed: list[float] = []
    for _half in range(5):
        passed += [clock.seconds for _ in range(limit + 1) if is_let_through()]
        clock.go_on(0.5)
    assert len(passed) >= 2 * limit
    for first, next_one in zip(passed, passed[limit:], strict=False):
        assert next_one - first >= 1, "too many were let through"


@override_settings(RATE_LIMIT_PER_SECOND=LIVE_LIMIT)
def test_no_burst_around_a_full_second_gets_more_through(clock: RedisClock) -> None:
    clock.go_on(0.5)

    assert_no_second_has_more_than(LIVE_LIMIT, clock)


@override_settings(RATE_LIMIT_PER_SECOND=LIVE_LIMIT)
def test_the_check_sees_a_count_that_starts_anew_with_every_second(
    clock: RedisClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_of(name: str, *, limit: int, seconds: int) -> int:
        count = redis.client().incr(f"{name}:{int(clock.seconds)}")
        return 0 if count <= limit else 1

    clock.go_on(0.5)
    monkeypatch.setattr(limits, "_wait_of", wait_of)

    with pytest.raises(AssertionError, match="too many"):
        assert_no_second_has_more_than(LIVE_LIMIT, clock)


@pytest.mark.usefixtures("limited")
def test_a_clock_that_was_set_back_locks_nobody_out(patient_redis: Redis) -> None:
    tomorrow = int((time.time() + 86_400) * 1_000_000)
    patient_redis.lpush("limit:mer_racer", *[tomorrow] * SANDBOX_LIMIT)

    assert is_let_through()
    assert patient_redis.llen("limit:mer_racer") == 1


@override_settings(RATE_LIMIT_PER_SECOND=SANDBOX_LIMIT)
def test_nothing_of_a_count_is_left_after_its_time(patient_redis: Redis) -> None:
    limits.count_request("mer_racer")
    limits.count_failed_authentication(SOMEBODY)

    assert patient_redis.pttl("limit:mer_racer") in (-2, *range(1002)), "-2: it is over already"
    assert 30_000 < patient_redis.pttl("limit:failed:203.0.113.7") <= 60_001


# --- What a merchant in a hurry is told --------------------------------------------------


@pytest.mark.usefixtures("limited")
def test_a_refused_request_is_told_when_to_come_back(acme: ApiClient) -> None:
    answer = used_up(acme).get("/v1/balance")

    assert answer.refusal == LIMITED
    assert answer.error["type"] == "invalid_request_error"
    assert answer.headers["Retry-After"] == "1"
    assert_envelope(answer)


@pytest.mark.usefixtures("limited")
def test_whoever_waits_as_told_is_let_through(acme: ApiClient, clock: RedisClock) -> None:
    answer = used_up(acme).get("/v1/balance")

    clock.go_on(int(answer.headers["Retry-After"]))

    assert acme.get("/v1/balance").status == 200


@pytest.mark.usefixtures("limited")
def test_the_keys_of_a_merchant_share_the_limit_and_other_merchants_do_not(
    acme: ApiClient, globex: ApiClient
) -> None:
    _key, secret = keys.create(acme.merchant, name="another")
    twin = acme.twin(secret)

    used_up(twin)

    assert twin.get("/v1/balance").refusal == LIMITED
    assert globex.get("/v1/balance").status == 200


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("body", [b"{", b'{"amount": "x"}', b"x" * 300_000])
def test_a_refused_requests_body_is_not_judged(acme: ApiClient, body: bytes) -> None:
    assert used_up(acme).post("/v1/payment_intents", body).refusal == LIMITED


@pytest.mark.usefixtures("limited")
def test_a_refused_payment_leaves_nothing_and_its_key_free(acme: ApiClient) -> None:
    used_up(acme).post("/v1/payment_intents", payment(), idempotency_key="k")

    assert not PaymentIntent.objects.exists()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.usefixtures("limited")
def test_requests_that_a_scope_refuses_count_as_well(acme: ApiClient) -> None:
    _key, acme.key = keys.create(acme.merchant, name="x", scopes={"events": "none"})

    used_up(acme, but=1)

    assert [acme.get("/v1/events").status for _ in range(2)] == [403, 429]


def round_trips_of(call: Callable[[], Any], patient_redis: Redis) -> int:
    """Return how often Redis had something to read meanwhile."""
    before = patient_redis.info("stats")["total_reads_processed"]
    call()
    # Without the look at the figure itself.
    return patient_redis.info("stats")["total_reads_processed"] - before - 1


@pytest.mark.parametrize(("limit", "round_trips"), [(0, 0), (SANDBOX_LIMIT, 1)])
def test_a_limit_costs_one_round_trip_and_none_if_it_is_off(
    acme: ApiClient,
    patient_redis: Redis,
    settings: Any,
    limit: int,
    round_trips: int,
) -> None:
    settings.RATE_LIMIT_PER_SECOND = limit
    redis.client().ping()

    assert round_trips_of(lambda: acme.get("/v1/balance"), patient_redis) == round_trips


# --- What a guesser is told --------------------------------------------------------------


def test_the_31st_failed_authentication_of_a_minute_is_refused() -> None:
    assert guesses(30) == {401: 30}

    answer = from_address(SOMEBODY)

    assert answer.refusal == LIMITED
    assert 50 <= int(answer.headers["Retry-After"]) <= 60
    assert_envelope(answer)


def test_a_valid_key_works_from_an_address_that_guesses(acme: ApiClient) -> None:
    assert guesses(31)[429] == 1

    assert from_address(SOMEBODY, f"Bearer {acme.key}").status == 200
    assert from_address(SOMEBODY).status == 429


def test_other_addresses_may_still_fail() -> None:
    guesses(31)

    assert from_address(NEIGHBOUR).status == 401


def test_every_way_to_fail_counts(acme: ApiClient) -> None:
    _key, revoked = keys.create(acme.merchant, name="revoked")
    keys.revoke(ApiKey.objects.get(name="revoked"))
    ways = ["", "Bearer x", "Basic eA==", f"Bearer {keys.new_secret()}", f"Bearer {revoked}"]

    statuses = [from_address(SOMEBODY, way).status for _ in range(6) for way in ways]

    assert statuses == [401] * 30
    assert {from_address(SOMEBODY, way).status for way in ways} == {429}


def test_good_requests_cost_a_guesser_nothing_and_count_nothing(acme: ApiClient) -> None:
    for _ in range(40):
        from_address(SOMEBODY, f"Bearer {acme.key}")

    assert guesses(30) == {401: 30}


def test_an_ipv6_network_is_one_address() -> None:
    network = int(IPv6Address("2001:db8:1:2::"))
    for number in range(30):
        assert from_address(str(IPv6Address(network + (number << 40)))).status == 401

    assert from_address("2001:db8:1:2:ffff::1").status == 429
    assert from_address("2001:db8:1:3::1").status == 401


def test_an_ipv4_address_is_the_same_on_a_socket_for_both() -> None:
    guesses(31)

    assert from_address(f"::ffff:{SOMEBODY}").status == 429


@override_settings(FAILED_AUTHENTICATIONS_PER_MINUTE=0)
def test_the_limit_of_failures_can_be_switched_off() -> None:
    assert guesses(40) == {401: 40}


def test_without_redis_the_process_counts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "counts_here", limits.CountHere(names=10))

    with refusing_port() as port, redis_at(f"redis://127.0.0.1:{port}"):
        assert guesses(32) == {401: 30, 429: 2}
        assert 50 <= int(from_address(SOMEBODY).headers["Retry-After"]) <= 60
        assert from_address(NEIGHBOUR).status == 401


def test_the_process_remembers_only_so_many_addresses() -> None:
    here = limits.CountHere(names=100)

    for number in range(1000):
        here.wait_of(f"{number}", limit=30, seconds=60)

    assert len(here) == 100


def test_the_process_forgets_a_failure_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    here, instants = limits.CountHere(names=10), iter([100.0, 100.0, 159.0, 160.0])
    monkeypatch.setattr("core.limits.time", SimpleNamespace(monotonic=instants.__next__))

    waits = [here.wait_of("a", limit=2, seconds=60) for _ in range(4)]

    assert waits == [0, 0, 2, 0]


# --- Where a request comes from ----------------------------------------------------------


def request_of(forwarded: str | None) -> HttpRequest:
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": "10.0.0.1"}
    if forwarded is not None:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    return request


@override_settings(PROXY_HOPS=1)
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("1.1.1.1, 203.0.113.7", "203.0.113.7"),
        ("1.1.1.1,203.0.113.7 ", "203.0.113.7"),
        ("x, 2001:db8::1", "2001:db8::1"),
        ("::FFFF:203.0.113.7", "203.0.113.7"),
        (None, "10.0.0.1"),
        ("", "10.0.0.1"),
        ("203.0.113.7,", "10.0.0.1"),
        ("203.0.113.7, unknown", "10.0.0.1"),
        ("203.0.113.7:4711", "10.0.0.1"),
        ("fe80::1%4242424242424242", "10.0.0.1"),
    ],
)
def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw(
    forwarded: str | None, address: str
) -> None:
    assert client_address(request_of(forwarded)) == address


@override_settings(PROXY_HOPS=2)
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.7, 198.51.100.1", "203.0.113.7"),
        ("1.1.1.1, 203.0.113.7,198.51.100.1", "203.0.113.7"),
        ("2001:db8::1, 198.51.100.1", "2001:db8::1"),
        ("198.51.100.1", "10.0.0.1"),  # It passed one of the two proxies only.
        ("unknown, 198.51.100.1", "10.0.0.1"),
        (None, "10.0.0.1"),
    ],
)
def test_behind_two_proxies_the_address_is_the_one_that_the_first_of_them_saw(
    forwarded: str | None, address: str
) -> None:
    assert client_address(request_of(forwarded)) == address


def test_without_a_proxy_nobody_is_believed() -> None:
    assert client_address(request_of("203.0.113.7")) == "10.0.0.1"


@override_settings(PROXY_HOPS=1)
def test_a_guesser_cannot_hide_behind_a_forged_header() -> None:
    def guess(number: int) -> int:
        forged = {"x-forwarded-for": f"198.51.100.{number}, {SOMEBODY}"}
        return raw("GET", "/v1/balance", headers=forged, REMOTE_ADDR="10.0.0.1").status

    assert Counter(guess(number) for number in range(32)) == {401: 30, 429: 2}
