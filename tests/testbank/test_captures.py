"""An authorisation at the test bank is captured once, voided, or lapses."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core import clock
from testbank import behaviours
from testbank.models import Authorization, Capture, Reversal
from testbank.states import State
from tests.stage.bank_orders import (
    ask,
    authorize,
    booked,
    capture,
    captured,
    inquire,
    statement,
    void,
    voided,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CAPTURE_FAILS, VOID_FAILS = "4000001100000066", "4000001100000074"
DECLINED, PENDS, DEMANDS = "4000000000000002", "4000001100000041", "4766620000000001"
PENDS_THEN_APPROVED = "4000001100000033"


# --- Capture ----------------------------------------------------------------------------------


def test_a_capture_takes_the_authorized_amount() -> None:
    authorize()

    assert capture(12500) == captured(12500)
    assert booked() == (State.AUTHORIZED, 12500, 12500, 0)


def test_a_part_is_captured_once_and_the_rest_is_released() -> None:
    authorize()

    assert capture(5000) == captured(5000)
    assert capture(7500) == captured(5000, "12")
    assert booked() == (State.AUTHORIZED, 5000, 5000, 0)
    [line] = ask(b"", "/statement", "GET")[1]["lines"]
    assert (line["captured_amount"], line["capturable_amount"]) == (5000, 0)


def test_the_same_capture_again_gets_the_same_answer_and_takes_nothing() -> None:
    authorize()

    assert capture(5000) == capture(5000) == captured(5000)
    assert Capture.objects.count() == 1


def test_what_was_captured_with_the_yes_counts_as_the_one_capture() -> None:
    authorize(capture=True)

    assert capture(12500) == captured(12500)
    assert capture(12499) == captured(12500, "12")
    assert Capture.objects.count() == 1


def test_more_than_was_authorized_is_not_captured() -> None:
    authorize()

    assert capture(12501) == captured(0, "13")
    assert booked() == (State.AUTHORIZED, 0, 0, 0)


@pytest.mark.parametrize("number", [DECLINED, PENDS, DEMANDS])
def test_what_is_not_authorized_is_neither_captured_nor_voided(number: str) -> None:
    authorize(number)
    before = booked()

    assert capture(12500) == captured(0, "12")
    assert void() == voided("12")
    assert booked() == before


def test_what_the_bank_never_heard_of_is_neither_captured_nor_voided() -> None:
    assert capture(12500) == captured(0, "25")
    assert void() == voided("25")
    assert not Authorization.objects.exists()


def test_the_card_whose_capture_fails() -> None:
    authorize(CAPTURE_FAILS)

    assert capture(12500) == captured(0, "96")
    assert void() == voided()
    assert booked() == (State.VOIDED, 0, 0, 0)


@pytest.mark.parametrize("sent", [b"", b"[]", {}, {"amount": 0}, {"amount": "1"}, {"amount": True}])
def test_a_malformed_capture_is_refused_and_takes_nothing(sent: Any) -> None:
    authorize()

    assert ask(sent, "/authorizations/ref_1/capture")[0] == 400
    assert booked() == (State.AUTHORIZED, 0, 0, 0)


@pytest.mark.parametrize("door", ["capture", "void"])
def test_asking_by_another_method_changes_nothing(door: str) -> None:
    authorize()

    for method in ("GET", "PUT", "DELETE"):
        assert ask(b"", f"/authorizations/ref_1/{door}", method)[0] == 405
    assert booked() == (State.AUTHORIZED, 0, 0, 0)


# --- Void -------------------------------------------------------------------------------------


def test_a_void_releases_what_was_authorized() -> None:
    authorize()

    assert void() == voided()
    assert booked() == (State.VOIDED, 0, 0, 0)
    assert Authorization.objects.get().voided_at is not None


def test_a_void_gives_captured_money_back_and_the_capture_stays_to_be_read() -> None:
    authorize(capture=True)

    assert void() == voided()
    assert booked() == (State.VOIDED, 12500, 12500, 12500)
    assert inquire()["captured_amount"] == 12500


def test_a_void_again_is_told_the_same_and_gives_nothing_back_twice() -> None:
    authorize(capture=True)

    assert void() == void() == voided()
    assert Reversal.objects.count() == 1


def test_what_is_voided_is_not_captured() -> None:
    authorize()
    void()

    assert capture(12500) == captured(0, "12")
    assert booked() == (State.VOIDED, 0, 0, 0)


@pytest.mark.parametrize("at_once", [True, False])
def test_the_card_whose_void_fails(at_once: bool) -> None:
    authorize(VOID_FAILS, capture=at_once)
    before = booked()

    assert void() == voided("05")
    assert booked() == before


def test_an_order_whose_reference_was_voided_is_told_so_and_takes_nothing() -> None:
    authorize(capture=True)
    void()

    assert authorize(capture=True)["result"] == "voided"
    assert Capture.objects.count() == 1


# --- Inquiry, statement and age ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "result"),
    [
        ("4242424242424242", "approved"),
        (DECLINED, "declined"),
        (DEMANDS, "authentication_required"),
        (PENDS, "pending"),
    ],
)
def test_an_inquiry_tells_the_state_and_what_was_captured(number: str, result: str) -> None:
    told = authorize(number)

    assert inquire() == {**told, "captured_amount": 0}
    assert told["result"] == result


def test_an_inquiry_tells_what_was_captured_and_voided() -> None:
    authorize()
    capture(5000)
    after_capture = inquire()
    void()
    after_void = inquire()

    assert (after_capture["result"], after_capture["captured_amount"]) == ("approved", 5000)
    assert (after_void["result"], after_void["captured_amount"]) == ("voided", 5000)


def test_the_statement_tells_what_is_left_of_each_authorization() -> None:
    for reference in ("a", "b", "c", "d"):
        authorize(reference=reference)
    capture(5000, "b")
    void("c")
    capture(12500, "d")
    void("d")

    assert statement() == [
        ("a", "authorized", 0, 12500),
        ("b", "authorized", 5000, 0),
        ("c", "voided", 0, 0),
        ("d", "voided", 12500, 0),
    ]


LOOKS = {
    "inquiry": lambda: inquire()["result"] == "lapsed",
    "capture": lambda: capture(12500) == captured(0, "12"),
    "void": lambda: void() == voided("12"),
    "statement": lambda: statement() == [("ref_1", "lapsed", 0, 0)],
    "the same order": lambda: authorize()["result"] == "lapsed",
}


@pytest.mark.parametrize("look", LOOKS)
def test_an_uncaptured_authorization_lapses_after_seven_days_for_whoever_looks(look: str) -> None:
    authorize()
    clock.advance(behaviours.LAPSES_AFTER)

    assert LOOKS[look]()

    assert booked() == (State.LAPSED, 0, 0, 0)


def test_nothing_lapses_a_minute_earlier_or_when_it_is_captured_or_voided() -> None:
    for reference in ("a", "b", "c"):
        authorize(reference=reference)
    capture(1, "b")
    void("c")
    clock.advance(behaviours.LAPSES_AFTER - timedelta(minutes=1))
    assert [line[1] for line in statement()] == ["authorized", "authorized", "voided"]

    clock.advance(timedelta(minutes=1))

    assert [line[1] for line in statement()] == ["lapsed", "authorized", "voided"]


def test_a_pending_one_is_decided_before_it_can_lapse() -> None:
    authorize(PENDS_THEN_APPROVED, capture=True)
    authorize(PENDS_THEN_APPROVED, reference="held")

    clock.advance(behaviours.LAPSES_AFTER)

    assert (inquire()["result"], inquire()["captured_amount"]) == ("approved", 12500)
    assert inquire("held")["result"] == "lapsed"


# --- What the database itself refuses ---------------------------------------------------------


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"state": State.VOIDED}, "bank_says_when_it_voided"),
        ({"state": State.LAPSED}, "bank_captures_only_what_it_authorized"),
        ({"voided_at": "2026-01-01T00:00Z"}, "bank_says_when_it_voided"),
    ],
)
def test_the_database_refuses_a_book_that_contradicts_itself(
    changes: dict[str, Any], guard: str
) -> None:
    authorize(capture=True)

    with pytest.raises(IntegrityError, match=guard), transaction.atomic(using="bank"):
        Authorization.objects.update(**changes)


def test_the_database_refuses_to_give_money_back_twice() -> None:
    authorize(capture=True)
    void()
    [row] = Authorization.objects.all()

    with pytest.raises(IntegrityError, match="authorization_id"):
        Reversal.objects.create(authorization=row, amount=1, created_at=clock.now())
