"""Movements of a cause follow each other as they may, and money comes back once."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from core import clock
from ledger import book
from ledger.book import Sale, journal
from ledger.models import Movement
from tests.stage.book_keeping import CAPTURED_ON, Till
from tests.stage.factories import MerchantFactory

pytestmark = pytest.mark.django_db

BEGINNINGS: dict[str, Callable[[Till], Movement]] = {
    "refund": lambda till: till.refund(till.charge(100), 100),
    "void": lambda till: till.void(till.charge(100)),
    "dispute_opened": lambda till: till.dispute(till.charge(100), 100),
    "payout": lambda till: (till.topup(100), till.payout(100))[1],
    "topup": lambda till: till.topup(100),
}
# All that may follow, from a beginning to an end.
COURSES = {
    ("refund", "refund_paid", "refund_bounced"),
    ("refund", "refund_returned"),
    ("void", "refund_paid", "refund_bounced"),
    ("void", "refund_returned"),
    ("void", "void_undone"),
    ("dispute_opened", "dispute_won", "dispute_lost", "dispute_regained"),
    ("dispute_opened", "dispute_lost", "dispute_regained"),
    ("payout", "payout_paid", "payout_bounced"),
    ("payout", "payout_returned"),
    ("topup", "topup_reversed"),
}
# Every place in a course, its beginning and its end too.
POSITIONS = sorted({course[:end] for course in COURSES for end in range(1, len(course) + 1)})
FOLLOWERS = {kind for course in COURSES for kind in course} - BEGINNINGS.keys()


@pytest.fixture
def till() -> Till:
    return Till(MerchantFactory())


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("position", POSITIONS, ids=" ".join)
def test_what_may_follow_does_and_nothing_else(position: tuple[str, ...], till: Till) -> None:
    movement = BEGINNINGS[position[0]](till)
    for kind in position[1:]:
        till.then(movement, getattr(book, kind))
    until = len(position)
    may = {course[until] for course in COURSES if course[:until] == position and course[until:]}

    for kind in FOLLOWERS - may:
        with pytest.raises(book.OutOfTurn):
            till.then(movement, getattr(book, kind))
    for kind in may:
        with transaction.atomic():
            assert till.then(movement, getattr(book, kind)).kind == kind
            transaction.set_rollback(True)


def test_the_database_lets_one_movement_follow(till: Till) -> None:
    payout = BEGINNINGS["payout"](till)
    till.then(payout, book.payout_paid)

    with pytest.raises(IntegrityError, match="a_movement_is_followed_once"):
        journal.undo(payout, Movement.Kind.PAYOUT_RETURNED, now=clock.now())


def test_a_cause_of_another_merchant_is_unknown(till: Till) -> None:
    payout = BEGINNINGS["payout"](till)

    with pytest.raises(book.OutOfTurn):
        Till(MerchantFactory()).then(payout, book.payout_paid)


@pytest.mark.django_db(transaction=True)
def test_money_does_not_move_outside_of_a_transaction(till: Till) -> None:
    terms = {"cause_id": "att_1", "captured_on": CAPTURED_ON, "now": clock.now()}

    with pytest.raises(RuntimeError, match="in the transaction of its cause"):
        book.charge(till.merchant.id, Sale(100, "try"), **terms)
