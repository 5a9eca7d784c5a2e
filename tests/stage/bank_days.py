"""The days of the test bank, which end at midnight in Istanbul: tests walk through them."""

from datetime import datetime, timedelta
from typing import Protocol

from core import clock, local_days
from ledger import calendar
from testbank import days

# Far enough from both ends of a day for whatever a test has to do.
NOON = timedelta(hours=12)
FRIDAY = 4


class Bank(Protocol):
    """The way to a bank, as scenes at several doors have it."""

    refunds_on_the_day: bool


def begin_at_noon() -> None:
    """Move the clock to the next noon in Istanbul: hours are left of the bank's day."""
    _move_to(days.end_of(clock.now()) + NOON)


def begin_on_a_friday() -> tuple[datetime, datetime]:
    """Move the clock to a Friday's noon in Istanbul; return when it and its Monday began.

    Neither of the two is a holiday.
    """
    open_days, day = calendar.of("TR"), local_days.of(clock.now(), days.ZONE) + timedelta(days=1)
    while day.weekday() != FRIDAY or not all(
        open_days.is_business_day(day + timedelta(days=after)) for after in (0, 3)
    ):
        day += timedelta(days=1)
    friday = days.beginning_of(day)
    _move_to(friday + NOON)
    return friday, friday + timedelta(days=3)


def end_the_day() -> None:
    """Move the clock to the end of the bank's day: what was captured before is settled."""
    _move_to(days.end_of(clock.now()))


def wait_for_refunds(bank: Bank) -> None:
    """End the bank's day, if it refunds nothing that was captured on it."""
    if not bank.refunds_on_the_day:
        end_the_day()


def end_the_day_nearly(before: timedelta) -> None:
    """Move the clock to so much before the end of the bank's day."""
    _move_to(days.end_of(clock.now()) - before)


def _move_to(moment: datetime) -> None:
    clock.advance(moment - clock.now())
