"""Networks and sessions that fail often wait; those that succeed never do."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks.registry import registry
from django.http import HttpRequest
from structlog.testing import capture_logs

from core import limits
from core.limits import RateLimited
from payments.checkout import floods, networks
from tests.stage.own_ports import refusing_port
from tests.stage.redis_places import redis_at

IPV4, IPV6 = "203.0.113.7", "2001:db8:1:2::/64"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "counts_here", limits.CountHere(names=100))


@pytest.fixture(params=["redis", "here"])
def counted_by(request: pytest.FixtureRequest) -> Iterator[str]:
    """Count on Redis, and without it in the process."""
    if request.param == "redis":
        yield request.param
        return
    with refusing_port() as port, redis_at(f"redis://127.0.0.1:{port}"):
        yield request.param


def is_refused(network: str | None, *, tries: int = 1) -> bool:
    try:
        floods.require_few_failures(network, tries=tries)
    except RateLimited as refused:
        return 0 < (refused.retry_after_seconds or 0) <= 60
    return False


@pytest.mark.parametrize(("network", "limit"), [(IPV4, 120), (IPV6, 30)])
def test_a_network_that_fails_too_often_waits(counted_by: str, network: str, limit: int) -> None:
    for _ in range(limit):
        assert not is_refused(network)
        floods.count_failure(network)

    assert is_refused(network)
    assert not is_refused("203.0.113.8")


def test_a_look_counts_nothing_and_the_first_try_of_a_session_passes(
    counted_by: str, settings: Any
) -> None:
    settings.CHECKOUT_FAILURES_PER_MINUTE = 3
    for _ in range(10):
        assert not is_refused(IPV4)
    for _ in range(5):
        floods.count_failure(IPV4)

    assert is_refused(IPV4)
    assert not is_refused(IPV4, tries=0)


def test_without_a_limit_or_a_network_nothing_is_counted(counted_by: str, settings: Any) -> None:
    settings.CHECKOUT_FAILURES_PER_MINUTE = 0
    for network in (IPV4, IPV6, None):
        floods.count_failure(network)

    assert not any(is_refused(network) for network in (IPV4, IPV6, None))


def test_a_session_may_be_refused_at_a_field_twenty_times(counted_by: str) -> None:
    for _ in range(20):
        floods.count_refused_press("cs_one")

    with pytest.raises(RateLimited) as refused:
        floods.count_refused_press("cs_one")
    floods.count_refused_press("cs_another")

    assert 500 <= (refused.value.retry_after_seconds or 0) <= 600


# --- The address -------------------------------------------------------------------------------


def press_from(address: str, forwarded: str = "") -> HttpRequest:
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": address, "HTTP_X_FORWARDED_FOR": forwarded}
    return request


@pytest.mark.parametrize(
    ("address", "network"),
    [("203.0.114.7", "203.0.114.7"), ("2001:4860:4860:1:2::1", "2001:4860:4860:1::/64"),
     ("::ffff:203.0.114.7", "203.0.114.7")],
)  # fmt: skip
def test_a_payer_is_known_by_the_network(settings: Any, address: str, network: str) -> None:
    settings.LIVEMODE = True

    assert networks.of_payer(press_from(address)) == network


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "127.0.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "::1", ""]
)
def test_in_live_nothing_is_counted_by_an_address_that_is_not_public(
    settings: Any, address: str
) -> None:
    settings.LIVEMODE = True

    with capture_logs() as lines:
        found = [networks.of_payer(press_from(address)) for _ in range(3)]

    assert found == [None] * 3
    assert [line["event"] for line in lines] == ["network_unknown"]  # Once a minute.


def test_a_sandbox_counts_any_address() -> None:
    assert networks.of_payer(press_from("127.0.0.1")) == "127.0.0.1"
    assert networks.of_payer(press_from("")) is None


def test_the_check_of_a_deployment_finds_proxies_that_are_not_counted(settings: Any) -> None:
    settings.LIVEMODE, settings.PROXY_HOPS = True, 1
    before = found()

    networks.of_payer(press_from("10.0.0.1", "203.0.114.7, 10.1.1.1"))
    seen = found()
    settings.PROXY_HOPS = 2
    counted = networks.of_payer(press_from("10.0.0.1", "203.0.114.7, 10.1.1.1"))

    assert before == []
    assert len(seen) == 1
    assert "10.1.1.1" in seen[0]
    assert (counted, found()) == ("203.0.114.7", [])


def found() -> list[str]:
    check = networks.payers_have_public_addresses
    assert check in registry.get_checks(include_deployment_checks=True)
    return [str(one.msg) for one in check()]
