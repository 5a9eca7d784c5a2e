"""Deliveries go one after the other per object, and nobody else's go slower for it (I9)."""

from collections import Counter
from datetime import timedelta

import pytest

from core import clock
from events.models import Event
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.webhook_world import (
    claim,
    claim_all,
    deliver,
    leases_run_out,
    ok,
    refused,
    resend_event,
    rows,
    sequence_of,
    sequences,
    tell,
    tell_many,
)
from webhooks.delivery import fairness, lanes, shares
from webhooks.delivery.messages import Claimed
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db


def test_a_claim_has_all_that_a_delivery_needs() -> None:
    endpoint = EndpointFactory(secret="whsec_current")
    tell(endpoint.merchant)

    [claimed] = claim()

    assert (claimed.endpoint_id, claimed.merchant_id) == (endpoint.id, endpoint.merchant_id)
    assert (claimed.url, claimed.secrets) == (endpoint.url, ("whsec_current",))
    assert (claimed.attempt, claimed.is_resend, claimed.is_degraded) == (1, False, False)
    assert claimed.body.startswith(f'{{"id":"{claimed.event_id}"'.encode())
    assert "whsec" not in repr(claimed)


def test_one_object_is_told_in_order() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 5)

    assert deliver() == [1, 2, 3, 4, 5]
    assert not Lane.objects.exists()


def test_while_one_is_under_way_nothing_else_of_its_object_is() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    tell(endpoint.merchant, "cus_2")

    first = claim_all()

    assert sequences(first) == [1, 1]
    assert claim() == []


def test_an_attempt_is_written_down_as_it_went() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    [claimed] = claim()
    moment = clock.now()

    lanes.finish([refused(claimed, attempted_at=moment, duration_ms=120)])

    attempt = Delivery.objects.get(id=claimed.delivery_id)
    assert (attempt.status, attempt.error, attempt.is_missed) == ("failed", "http_status", False)
    assert (attempt.response_status, attempt.response_excerpt) == (500, "sorry")
    assert (attempt.attempted_at, attempt.duration_ms) == (moment, 120)
    assert attempt.next_attempt_at == moment + timedelta(seconds=60, milliseconds=120)


def test_a_failed_event_holds_its_object_back_and_no_other() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    lanes.finish([refused(one) for one in claim()])
    tell(endpoint.merchant, "cus_2")

    assert [one.event_id for one in claim_all()] == [
        Delivery.objects.get(lane_key="cus_2").event_id
    ]
    clock.advance(timedelta(seconds=61))
    assert [sequence_of(one) for one in claim()] == [1]


def test_the_next_attempt_goes_to_the_address_of_that_moment() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    lanes.finish([refused(one) for one in claim()])
    Endpoint.objects.filter(id=endpoint.id).update(url="https://acme.example/new")
    clock.advance(timedelta(seconds=61))

    lanes.finish([ok(one) for one in claim()])

    assert rows(endpoint, "url") == [(endpoint.url,), ("https://acme.example/new",)]


def told_of_ten(endpoint: Endpoint, *, claims: bool = True) -> list[Claimed]:
    """Change ten objects, and claim what may be sent at once of that."""
    for number in range(10):
        tell(endpoint.merchant, f"cus_{number}")
    return claim() if claims else []


# --- Leases -----------------------------------------------------------------------------------


def test_a_crashed_process_s_delivery_comes_free_and_is_made_again() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    [lost] = claim()

    leases_run_out()
    [again] = claim()

    assert (again.delivery_id, again.attempt) == (lost.delivery_id, 1)
    assert again.lease != lost.lease


def test_one_who_comes_back_after_its_lease_was_taken_over_writes_nothing() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    [late] = claim()
    leases_run_out()
    [again] = claim()

    lanes.finish([refused(late)])

    assert rows(endpoint, "status") == [("pending",), ("pending",)]
    assert Endpoint.objects.get().failures_in_a_row == 0
    lanes.finish([ok(again)])
    assert deliver() == [2]


def test_an_answer_of_a_lease_long_over_takes_the_place_of_no_other() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    [late] = claim()
    leases_run_out()
    lanes.finish([ok(one) for one in claim()])
    [second] = claim()

    left = lanes.finish([ok(second), ok(late)])

    assert left == []
    assert rows(endpoint, "status") == [("succeeded",), ("succeeded",)]
    assert not Lane.objects.exists()


def test_one_who_comes_back_after_its_lease_but_before_others_is_heard() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    [late] = claim()
    leases_run_out()

    lanes.finish([ok(late)])

    assert rows(endpoint, "status") == [("succeeded",)]
    assert claim() == []


def test_a_released_delivery_is_free_at_once_and_no_attempt_was_spent() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    held = claim()

    lanes.release(held)

    [again] = claim()
    assert (again.attempt, again.delivery_id) == (1, held[0].delivery_id)
    lanes.release(held)
    assert claim() == []


# --- Fairness ---------------------------------------------------------------------------------


def test_eight_are_under_way_per_endpoint_and_two_where_it_keeps_failing() -> None:
    healthy, degraded = EndpointFactory(), EndpointFactory(failures_in_a_row=5)
    for endpoint in (healthy, degraded):
        for number in range(12):
            tell(endpoint.merchant, f"cus_{number}")

    claimed = claim_all()

    owners = [one.endpoint_id for one in claimed]
    assert (owners.count(healthy.id), owners.count(degraded.id)) == (8, 2)
    assert {one.is_degraded for one in claimed if one.endpoint_id == degraded.id} == {True}


def test_those_that_keep_failing_share_their_slots() -> None:
    for _ in range(5):
        endpoint = EndpointFactory(failures_in_a_row=7)
        for number in range(3):
            tell(endpoint.merchant, f"cus_{number}")

    assert claim(slots=100, degraded_slots=0) == []
    assert len(claim(slots=100, degraded_slots=5)) == 5


def test_a_claim_takes_no_more_than_there_are_slots() -> None:
    endpoint = EndpointFactory()
    for number in range(5):
        tell(endpoint.merchant, f"cus_{number}")

    assert len(claim(slots=3)) == 3
    assert claim(slots=0) == []


def test_endpoints_take_turns_however_much_each_has_due() -> None:
    acme = MerchantFactory()
    endpoints = [EndpointFactory(merchant=acme).id for _ in range(6)]
    for number in range(12):
        tell(acme, f"cus_{number}")
    served: list[str] = []

    for _ in range(4):
        claimed = claim(slots=16)
        served += [one.endpoint_id for one in claimed]
        lanes.finish([ok(one) for one in claimed])

    assert sorted(served) == sorted(endpoints * 8)


def test_many_endpoints_of_one_merchant_leave_others_their_part_of_each_claim() -> None:
    acme, globex = MerchantFactory(), MerchantFactory()
    for number in range(15):
        EndpointFactory(merchant=acme, id=f"we_a{number:02}")
    EndpointFactory(merchant=globex, id="we_b")
    for number in range(20):
        tell(acme, f"cus_{number}")
        tell(globex, f"cus_{number}")

    for _ in range(2):
        claimed = claim(slots=lanes.CLAIM_MAX)
        each = Counter(one.endpoint_id for one in claimed)
        assert (each.pop("we_b"), each.total()) == (shares.SHARE_BESIDE_OTHERS,) * 2
        lanes.release(claimed)


@pytest.mark.parametrize(
    ("status", "replay_xid", "unserved"),
    [
        ("enabled", None, ["cus_", "whd_"]),
        ("enabled", 0, ["whd_"]),
        ("failing", None, ["whd_"]),
        ("disabled", None, []),
    ],
    ids=["enabled", "replaying", "failing", "disabled"],
)
def test_lanes_that_a_sender_could_take_are_unserved(
    status: str, replay_xid: int | None, unserved: list[str]
) -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver()
    resend_event(Event.objects.get(), endpoint)
    tell(endpoint.merchant)
    Endpoint.objects.update(status=status, replay_xid=replay_xid)

    found = fairness.unserved(clock.now())

    assert sorted(lane.key[:4] for lane in found) == unserved


def test_nothing_is_unserved_at_an_endpoint_that_a_sender_serves() -> None:
    served, other = EndpointFactory(), EndpointFactory()
    for number in range(9):
        tell(served.merchant, f"cus_{number}")
    claim_all()
    tell(other.merchant)

    assert [lane.endpoint_id for lane in fairness.unserved(clock.now())] == [other.id]

    leases_run_out()

    assert fairness.unserved(clock.now()).count() == 10


def test_a_lane_that_is_not_due_is_not_unserved() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)

    deliver(refused)

    assert not fairness.unserved(clock.now()).exists()


def test_an_endpoint_that_succeeds_is_not_degraded_any_more() -> None:
    endpoint = EndpointFactory(failures_in_a_row=6)
    tell(endpoint.merchant)

    deliver()

    assert Endpoint.objects.get().failures_in_a_row == 0


def test_endpoints_that_take_long_to_answer_share_a_part_of_the_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that the prompt one, of another merchant, may take all of its room.
    monkeypatch.setattr(shares, "SHARE_BESIDE_OTHERS", shares.SHARE_ALONE)
    late, prompt = EndpointFactory(), EndpointFactory()
    lanes.finish([ok(one, duration_ms=2000) for one in told_of_ten(late)])
    lanes.finish([ok(one, duration_ms=1999) for one in told_of_ten(prompt)])
    for endpoint in (late, prompt):
        told_of_ten(endpoint, claims=False)

    first = claim(slots=20, degraded_slots=5)
    more = claim(slots=20, degraded_slots=3)

    assert [one.endpoint_id for one in first].count(late.id) == 5
    assert [one.endpoint_id for one in first].count(prompt.id) == 8
    assert [one.endpoint_id for one in more] == [late.id] * 3
    assert {(one.endpoint_id, one.is_degraded) for one in first} == {
        (late.id, True), (prompt.id, False),
    }  # fmt: skip


def test_one_that_has_answered_in_time_for_a_minute_has_all_its_room_again() -> None:
    endpoint = EndpointFactory()
    lanes.finish([ok(one, duration_ms=2000) for one in told_of_ten(endpoint)])
    a_minute = timedelta(seconds=61)
    Endpoint.objects.update(slow_until=Endpoint.objects.get().slow_until - a_minute)

    claimed = told_of_ten(endpoint)

    assert [one.is_degraded for one in claimed] == [False] * 8
