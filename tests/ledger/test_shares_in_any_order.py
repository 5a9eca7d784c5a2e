"""Shares of the surcharge are the same in the end, whatever comes first: a refund or a dispute."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.db import connection, transaction

from ledger import book
from ledger.models import Movement
from tests.stage.book_keeping import Till, entries_of, limit
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db

# Of these, 600 are surcharge: one of 21.
CAPTURED, SURCHARGE = 12600, 600


# The number of a course in its story, and of its step.
Step = tuple[int, int]


class Course(NamedTuple):
    """A cause that takes so much of the charge, and what follows; `is_gone` at its end."""

    begins: str
    amount: int
    goes_on: tuple[str, ...] = ()

    @property
    def is_gone(self) -> bool:
        return self.goes_on[-1:] in ((), ("refund_paid",), ("dispute_lost",))


def bounced(amount: int) -> Course:
    return Course("refund", amount, ("refund_paid", "refund_bounced"))


def returned(amount: int) -> Course:
    return Course("refund", amount, ("refund_returned",))


def lost(amount: int) -> Course:
    return Course("dispute", amount, ("dispute_lost",))


def won(amount: int) -> Course:
    return Course("dispute", amount, ("dispute_won",))


def regained(amount: int) -> Course:
    return Course("dispute", amount, ("dispute_lost", "dispute_regained"))


def lost_after_all(amount: int) -> Course:
    return Course("dispute", amount, ("dispute_won", "dispute_lost"))


STORIES = {
    "all refunded, bounced; all disputed, lost": (bounced(12600), lost(12600)),
    "all refunded, failed; all disputed, lost": (returned(12600), lost(12600)),
    "a part refunded, bounced; all disputed, lost": (bounced(5000), lost(12600)),
    "all refunded, bounced; a part disputed, lost": (bounced(12600), lost(6300)),
    "all refunded, bounced; all disputed, won": (bounced(12600), won(12600)),
    "all refunded, bounced; all disputed, regained": (bounced(12600), regained(12600)),
    "all refunded; all disputed, regained": (Course("refund", 12600), regained(12600)),
    "all refunded, bounced; all disputed, won, lost": (bounced(12600), lost_after_all(12600)),
    "all refunded, failed; a part disputed, won, lost": (returned(12600), lost_after_all(6300)),
    "two disputes": (returned(12600), lost(6300), won(4200)),
    "two disputes of all": (returned(12600), lost(12600), won(12600)),
    "two refunds": (returned(6300), Course("refund", 4200), lost(12600)),
    "two refunds that fail": (returned(8400), returned(4200), lost(12600)),
    "a refund in the place of one that failed": (returned(12600), lost(6300), returned(6300)),
}


@pytest.fixture
def till(acme: ApiClient) -> Till:
    limit(acme.merchant, 100_000)
    return Till(acme.merchant)


@pytest.mark.dear("each story in up to 20 orders")
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_order_of_refunds_and_disputes_does_not_matter(
    story: tuple[Course, ...], till: Till
) -> None:
    charge = till.charge(CAPTURED, surcharge=SURCHARGE, parts=3)
    till.settle()  # The first part; the others are pending.
    gone = sum(course.amount for course in story if course.is_gone)
    share = SURCHARGE * min(CAPTURED, gone) // CAPTURED
    possible = list(orders([(number, 0) for number in range(len(story))], story))

    for order in possible[:: -(-len(possible) // 20)]:
        held = ends(till, charge, story, order)
        assert held["surcharge"] == SURCHARGE - share, order
        assert held["merchant's"] == CAPTURED - SURCHARGE - (gone - share), order


def orders(nexts: list[Step], story: tuple[Course, ...]) -> Iterator[list[Step]]:
    """Return each order of all steps in which each course keeps its own."""
    if not nexts:
        yield []
    for number, step in nexts:
        follows = [(number, step + 1)] if step < len(story[number].goes_on) else []
        rest = [one for one in nexts if one[0] != number]
        for order in orders([*rest, *follows], story):
            yield [(number, step), *order]


def ends(
    till: Till, charge: Movement, story: tuple[Course, ...], order: list[Step]
) -> dict[str, int]:
    """Play the steps in this order, and undo them; return what was where at the end."""
    begun: dict[int, Movement] = {}
    with transaction.atomic():
        for number, step in order:
            course = story[number]
            if step:
                till.then(begun[number], getattr(book, course.goes_on[step - 1]))
            else:
                begun[number] = getattr(till, course.begins)(charge, course.amount)
        connection.check_constraints()
        sums = till.sums()
        transaction.set_rollback(True)
    assert (sum(sums.values()), sums.get("reserved", 0)) == (0, 0)
    return {"surcharge": sums["surcharge"], "merchant's": sums["pending"] + sums["available"]}


# --- The lines --------------------------------------------------------------------------------


def moved(till: Till, begun: Movement, how: Any) -> dict[str, list[int]]:
    return entries_of(till.then(begun, how))


def test_a_dispute_takes_its_share_up_when_the_refund_before_it_fails(till: Till) -> None:
    charge = till.charge(CAPTURED, surcharge=SURCHARGE)
    till.settle()
    refund = till.refund(charge, 5000)
    dispute = till.dispute(charge, CAPTURED)

    back = moved(till, refund, book.refund_returned)
    end = moved(till, dispute, book.dispute_lost)

    assert back == {"available": [5000], "refunds": [-5000]}
    assert end == {"reserved": [-12238], "surcharge": [-362], "acquirer": [12600]}
    assert (till.sums()["available"], till.sums()["surcharge"]) == (0, 0)


def test_a_won_dispute_leaves_the_share_that_it_had_taken_up(till: Till) -> None:
    charge = till.charge(CAPTURED, surcharge=SURCHARGE)
    till.settle()
    refund = till.refund(charge, CAPTURED)
    dispute = till.dispute(charge, CAPTURED)
    till.then(refund, book.refund_returned)

    back = moved(till, dispute, book.dispute_won)

    assert back == {"available": [12000], "surcharge": [600], "reserved": [-12600]}


def test_a_void_that_came_too_late_leaves_its_share_to_a_dispute(till: Till) -> None:
    charge = till.charge(CAPTURED, surcharge=SURCHARGE)
    void = till.void(charge)
    dispute = till.dispute(charge, CAPTURED)
    till.then(void, book.void_undone)
    refund = till.refund(charge, CAPTURED, cause_id=void.cause_id)

    till.then(dispute, book.dispute_won)
    till.then(refund, book.refund_returned)

    held = till.sums()
    assert (held["surcharge"], held["pending"] + held["available"]) == (600, 12000)


def test_a_refund_that_fails_beside_others_brings_back_what_it_took(till: Till) -> None:
    charge = till.charge(CAPTURED, surcharge=SURCHARGE)
    refund = till.refund(charge, 5000)
    till.refund(charge, 7600)  # Alone it would have a share of 361, and has 362.

    back = moved(till, refund, book.refund_returned)

    assert back == {"pending": [4762], "surcharge": [238], "refunds": [-5000]}
