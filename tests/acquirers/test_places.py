"""Places at an acquirer: how many there are, and who is next when one comes free."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from acquirers.places import Places
from tests.stage.kills import until

ACME, GLOBEX, INITECH = "mer_acme", "mer_globex", "mer_initech"


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


class Queue:
    """Those who wait for a place, in the order in which they came."""

    def __init__(self, places: Places, others: ThreadPoolExecutor) -> None:
        self.places, self.others = places, others

    def join(self, merchant_id: str) -> "Future[bool]":
        before = self.places.waiting
        joined = self.others.submit(self.places.wait, merchant_id, seconds=20, queue_max=8)
        until(lambda: self.places.waiting == before + 1)
        return joined


@pytest.fixture
def four() -> Places:
    return Places(4)


@pytest.fixture
def queue(four: Places, others: ThreadPoolExecutor) -> Queue:
    return Queue(four, others)


def fill(places: Places, *merchant_ids: str) -> None:
    assert all(places.take(merchant_id) for merchant_id in merchant_ids)


def test_alone_a_merchant_may_have_every_place(four: Places) -> None:
    fill(four, ACME, ACME, ACME, ACME)

    assert four.in_use == 4
    assert not four.take(ACME)
    assert not four.take(GLOBEX)


def test_a_freed_place_goes_first_to_a_merchant_that_holds_less_than_half(
    four: Places, queue: Queue
) -> None:
    fill(four, ACME, ACME, ACME, ACME)
    came_first, came_later = queue.join(ACME), queue.join(GLOBEX)

    four.give_back(ACME)

    assert came_later.result(20)
    assert not came_first.done()
    four.give_back(GLOBEX)
    assert came_first.result(20)


def test_half_of_the_places_is_not_less_than_half(four: Places, queue: Queue) -> None:
    fill(four, ACME, ACME, GLOBEX, INITECH)
    came_first, came_later = queue.join(ACME), queue.join(INITECH)

    four.give_back(GLOBEX)

    assert came_later.result(20)
    four.give_back(ACME)
    assert came_first.result(20)


def test_among_those_who_hold_little_the_first_comes_first(four: Places, queue: Queue) -> None:
    fill(four, ACME, ACME, ACME, ACME)
    first, second = queue.join(GLOBEX), queue.join(INITECH)

    four.give_back(ACME)

    assert first.result(20)
    assert not second.done()
    four.give_back(ACME)
    assert second.result(20)


def test_where_only_those_wait_who_hold_much_the_place_is_theirs(
    four: Places, queue: Queue
) -> None:
    fill(four, ACME, ACME, ACME, GLOBEX)
    waiting = queue.join(ACME)

    four.give_back(GLOBEX)

    assert waiting.result(20)
    assert four.in_use == 4


def test_who_waits_in_vain_leaves_the_queue_and_takes_nothing(four: Places) -> None:
    fill(four, ACME, ACME, ACME, ACME)

    assert not four.wait(GLOBEX, seconds=0.01, queue_max=1)

    assert four.waiting == 0
    four.give_back(ACME)
    assert (four.in_use, four.take(ACME)) == (3, True)


def test_a_queue_that_is_full_is_joined_by_nobody(four: Places, queue: Queue) -> None:
    fill(four, ACME, ACME, ACME, ACME)
    first = queue.join(ACME)

    assert not four.wait(GLOBEX, seconds=3600, queue_max=1)

    four.give_back(ACME)
    assert first.result(20)


def test_a_place_that_has_come_free_meanwhile_is_not_waited_for(four: Places) -> None:
    assert four.wait(ACME, seconds=3600, queue_max=0)
    assert four.in_use == 1


def test_places_are_neither_lost_nor_made_by_many_who_come_and_go() -> None:
    places, seen = Places(3), []

    def come_and_go(number: int) -> None:
        merchant_id = f"mer_{number % 3}"
        for _ in range(100):
            if places.wait(merchant_id, seconds=0.001 * (number % 4), queue_max=8):
                seen.append(places.in_use)
                time.sleep(0)  # Let others come meanwhile.
                places.give_back(merchant_id)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(come_and_go, range(8)))
    assert 0 < max(seen) <= 3
    assert (places.in_use, places.waiting) == (0, 0)
