"""The test bank closes its day: until then captured money is voided, from then on refunded."""

from datetime import UTC, datetime, timedelta

import pytest

from testbank import days
from testbank.states import State
from tests.stage.bank_days import begin_at_noon, end_the_day, end_the_day_nearly
from tests.stage.bank_orders import authorize, booked, capture, refund, void, voided

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SETTLES_AT_ONCE = ("4000000000007726", "4000000000005126")
VOID_FAILS = "4000001100000074"


@pytest.fixture(autouse=True)
def _the_day_is_long() -> None:
    begin_at_noon()


def test_a_void_of_captured_money_comes_in_time_until_midnight() -> None:
    authorize(capture=True)
    end_the_day_nearly(timedelta(minutes=10))

    assert void() == voided()
    assert booked() == (State.VOIDED, 12500, 12500, 12500)


def test_a_void_of_captured_money_comes_too_late_from_midnight_on() -> None:
    authorize(capture=True)
    end_the_day()

    assert void() == voided("21")
    assert booked() == (State.AUTHORIZED, 12500, 12500, 0)
    assert refund()["result"] == "refunded"
    assert void() == voided("21")


def test_the_day_is_the_captures_and_not_the_authorizations() -> None:
    authorize()
    end_the_day()
    capture(5000)

    assert void() == voided()


def test_what_was_not_captured_is_released_on_any_day() -> None:
    authorize()
    end_the_day()

    assert void() == voided()
    assert booked() == (State.VOIDED, 0, 0, 0)


def test_what_was_voided_in_time_stays_voided() -> None:
    authorize(capture=True)
    void()
    end_the_day()

    assert void() == voided()


@pytest.mark.parametrize("number", SETTLES_AT_ONCE)
def test_a_card_that_settles_at_once_is_refunded_on_the_same_day(number: str) -> None:
    authorize(number, capture=True)
    authorize(number, reference="ref_2")

    assert void() == voided("21")
    assert void("ref_2")["result"] == "voided"
    assert refund()["result"] == "pending"


def test_a_card_whose_void_fails_is_refused_for_itself_and_not_for_the_day() -> None:
    authorize(VOID_FAILS, capture=True)
    end_the_day()

    assert void() == voided("05")


def test_after_a_part_was_refunded_nothing_is_voided() -> None:
    authorize(capture=True)
    refund(1)

    assert void() == voided("12")


@pytest.mark.parametrize(
    ("moment", "end"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 1, 31, 21, tzinfo=UTC)),
        (datetime(2026, 6, 30, 20, 59, tzinfo=UTC), datetime(2026, 6, 30, 21, tzinfo=UTC)),
        (datetime(2026, 12, 31, 21, tzinfo=UTC), datetime(2027, 1, 1, 21, tzinfo=UTC)),
    ],
)
def test_a_day_ends_at_midnight_in_istanbul(moment: datetime, end: datetime) -> None:
    assert days.end_of(moment) == end
