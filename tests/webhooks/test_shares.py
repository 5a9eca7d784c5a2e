"""How a claim is divided among merchants that all have something to send."""

from collections import Counter

import pytest

from webhooks.delivery.shares import (
    LEAST_SHARE,
    SHARE_ALONE,
    SHARE_BESIDE_OTHERS,
    DueEndpoint,
    Shares,
)

MANY = 20
NOBODY: dict[str, int] = {}


def found(
    merchant: str, count: int, *, room: int = 8, is_degraded: bool = False
) -> list[DueEndpoint]:
    return [
        DueEndpoint(f"we_{merchant}{number}", merchant, True, is_degraded, room)
        for number in range(count)
    ]


def of_merchants(endpoints: list[DueEndpoint], shares: list[int]) -> Counter[str]:
    each = Counter[str]()
    for endpoint, share in zip(endpoints, shares, strict=True):
        each[endpoint.merchant_id] += share
    return each


@pytest.mark.parametrize(("count", "each"), [(2, SHARE_ALONE // 2), (MANY, 1)])
def test_who_is_alone_is_not_held_back(count: int, each: int) -> None:
    shares = Shares().of(found("a", count), 64, {"a": 100})

    assert shares == [each] * count


def test_beside_others_a_merchant_gets_less_the_more_it_has_under_way() -> None:
    endpoints = found("a", MANY) + found("b", 1)

    each = [
        of_merchants(endpoints, Shares().of(endpoints, 64, {"a": count}))
        for count in (0, SHARE_BESIDE_OTHERS - LEAST_SHARE, 100)
    ]

    assert [of["a"] for of in each] == [SHARE_BESIDE_OTHERS, LEAST_SHARE, LEAST_SHARE]
    assert {of["b"] for of in each} == {SHARE_BESIDE_OTHERS}


def test_who_wanted_something_a_moment_ago_counts_as_another() -> None:
    shares = Shares()
    shares.of(found("b", 1), 64, NOBODY)

    assert sum(shares.of(found("a", MANY), 64, {"a": 100})) == LEAST_SHARE


def test_who_wanted_something_long_ago_does_not(monkeypatch) -> None:
    shares = Shares()
    shares.of(found("b", 1), 64, NOBODY)
    monkeypatch.setattr("webhooks.delivery.shares.LATELY_SECONDS", 0.0)

    assert sum(shares.of(found("a", MANY), 64, {"a": 100})) == MANY


def test_each_of_many_endpoints_gets_a_turn() -> None:
    shares, endpoints, given = Shares(), found("a", MANY) + found("b", 1), Counter[str]()
    for _claim in range(1000):
        for endpoint, share in zip(endpoints, shares.of(endpoints, 64, {"a": 100}), strict=True):
            given[endpoint.endpoint_id] += share

    assert min(given.values()) > 0
    assert len(given) == MANY + 1


def test_no_endpoint_gets_more_than_it_has_room_for() -> None:
    assert Shares().of(found("a", 2, room=1), 64, NOBODY) == [1, 1]


def test_endpoints_that_fail_share_the_slots_that_are_theirs() -> None:
    endpoints = found("a", MANY, room=2, is_degraded=True) + found("b", 1)

    each = of_merchants(endpoints, Shares().of(endpoints, 3, NOBODY))

    assert each == {"a": 3, "b": SHARE_BESIDE_OTHERS}
