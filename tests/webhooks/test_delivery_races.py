"""Those who meet in a lane: real threads, each with a connection of its own."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.stage.factories import EndpointFactory
from tests.stage.lengths import chance, tried
from tests.stage.races import deadlocks, late
from tests.stage.threads import team
from tests.stage.webhook_world import (
    claim,
    deliver,
    disable,
    enable,
    leases_run_out,
    ok,
    refused,
    replay_missed,
    tell,
    tidy_up,
)
from webhooks import stopping
from webhooks.delivery import lanes, outcomes, shares
from webhooks.delivery.messages import Answer
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

SPREAD_SECONDS = 0.006
LEFT_MOST = 100
ROUNDS = [
    pytest.param(8, id="few"),
    pytest.param(
        2000,
        id="many",
        marks=[
            pytest.mark.proof(part="deliveries"),
            pytest.mark.only_full("few are in each run"),
        ],
    ),
]
Round = Callable[[Endpoint, str], list[Callable[[], Any]]]


def run(rounds: int, arrange: Round) -> tuple[Endpoint, list[list[Any]]]:
    """Let the same meet again and again, each time over another object.

    Return the endpoint, and what each round's contestants returned.
    """
    endpoint, before, told = EndpointFactory(), deadlocks(), []
    with team(3) as meet:
        for turn in range(rounds):
            draws = chance(arrange.__name__, turn)
            contestants = arrange(endpoint, f"cus_{turn}")
            told.append(meet([late(one, draws.uniform(0, SPREAD_SECONDS)) for one in contestants]))
    connection.close()
    tried(len(told), f"rounds of {arrange.__name__}")
    assert deadlocks() == before
    return endpoint, told


def write(answers: list[Answer]) -> None:
    """Write answers down as the loop does: what others hold is given again."""
    while answers := lanes.finish(answers):
        pass


def assert_all_delivered(endpoint: Endpoint) -> None:
    tidy_up()
    deliver()
    assert not Lane.objects.exists()
    assert not Delivery.objects.filter(status="pending").exists()
    told = Delivery.objects.values("event_id").distinct().count()
    got = Delivery.objects.filter(status="succeeded").values("event_id").distinct().count()
    assert got == told > 0


def a_plan_and_an_end(endpoint: Endpoint, name: str) -> list[Callable[[], Any]]:
    tell(endpoint.merchant, name)
    claimed = claim()
    return [
        lambda: write([ok(one) for one in claimed]),
        lambda: tell(endpoint.merchant, name),
    ]


def two_claims(endpoint: Endpoint, name: str) -> list[Callable[[], Any]]:
    leases_run_out()
    deliver()
    for number in range(12):
        tell(endpoint.merchant, f"{name}_{number}")
    return [claim, claim]


def an_end_and_a_stop(endpoint: Endpoint, name: str) -> list[Callable[[], Any]]:
    enable(endpoint)
    tell(endpoint.merchant, name)
    tell(endpoint.merchant, name)
    claimed = claim()
    disable(endpoint)
    return [lambda: write([refused(one) for one in claimed]), stopping.stop_pending]


def a_replay_a_plan_and_an_end(endpoint: Endpoint, name: str) -> list[Callable[[], Any]]:
    # A replay brings back whatever was not delivered: of some rounds, not of thousands.
    if Delivery.objects.filter(status="pending").count() > LEFT_MOST:
        tidy_up()
        deliver()
    disable(endpoint)
    tell(endpoint.merchant, name)
    enable(endpoint)
    tell(endpoint.merchant, name)
    claimed = claim()
    replay_missed(endpoint)
    return [
        tidy_up,
        lambda: tell(endpoint.merchant, name),
        lambda: write([ok(one) for one in claimed]),
    ]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_no_event_is_stranded_that_is_planned_while_another_ends(rounds: int) -> None:
    assert_all_delivered(run(rounds, a_plan_and_an_end)[0])


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_claims_never_hold_one_lane_nor_more_than_eight_of_an_endpoint(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each round's merchant is beside the last one's, and yet may ask for all of its room.
    monkeypatch.setattr(shares, "SHARE_BESIDE_OTHERS", shares.SHARE_ALONE)

    _, told = run(rounds, two_claims)

    for one, other in told:
        lanes_held = [claimed.lease.lane_id for claimed in (*one, *other)]
        assert len(lanes_held) == len(set(lanes_held)) == 8


@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_ends_while_its_endpoint_is_stopped_is_missed_once(rounds: int) -> None:
    endpoint, _ = run(rounds, an_end_and_a_stop)

    tidy_up()
    assert not Lane.objects.exists()
    assert Delivery.objects.filter(is_missed=True).count() == 2 * rounds
    enable(endpoint)
    replay_missed(endpoint)
    assert_all_delivered(endpoint)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_replay_that_meets_new_events_and_ends_loses_nothing(rounds: int) -> None:
    assert_all_delivered(run(rounds, a_replay_a_plan_and_an_end)[0])


def test_a_lane_that_ends_although_something_waits_in_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    always = outcomes.RECORD.replace("open_count = 1", "true").replace("open_count > 1", "false")
    monkeypatch.setattr(outcomes, "RECORD", always)

    with pytest.raises(AssertionError):
        race_until_stranded()


def race_until_stranded() -> None:
    """Race up to 20 times: on a busy machine the same side may win many times in a row."""
    for _ in range(20):
        assert_all_delivered(run(20, a_plan_and_an_end)[0])
