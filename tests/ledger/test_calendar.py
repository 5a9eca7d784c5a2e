"""Business days and value dates: examples of docs/explanation/settlement.md, and general rules."""

import re
from datetime import date, timedelta

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from core import clock, ids
from ledger import calendar
from ledger.calendar import Calendar
from ledger.models import HolidayChange, LedgerEntry, Movement
from ledger.parts import split
from merchants import accounts
from tests.stage.book_keeping import Till
from tests.stage.factories import MerchantFactory

PAGE = (settings.BASE_DIR / "docs" / "explanation" / "settlement.md").read_text()
EXAMPLE = re.compile(r"^\| .+?, ([\d-]{10}) \| (\d+) \| (\d+) \| ([\d, -]+) \|$", re.M)
TURKEY = Calendar("TR")

DAYS = st.dates(date(2024, 1, 1), date(2034, 12, 31))


@pytest.mark.parametrize(("captured_on", "delay", "parts", "dates"), EXAMPLE.findall(PAGE))
def test_value_dates_are_the_pages(captured_on: str, delay: str, parts: str, dates: str) -> None:
    found = calendar.value_dates(
        date.fromisoformat(captured_on), calendar=TURKEY, delay_days=int(delay), parts=int(parts)
    )

    assert [str(day) for day in found] == dates.split(", ")


def test_the_page_has_examples() -> None:
    assert len(EXAMPLE.findall(PAGE)) >= 15


@pytest.mark.parametrize(
    ("country", "day", "is_business_day"),
    [
        ("TR", "2026-10-29", False),  # Republic Day.
        ("TR", "2026-10-28", True),  # Its half day.
        ("TR", "2026-03-20", False),  # The first day of a feast, and the eve of it.
        ("TR", "2026-03-19", True),
        ("DE", "2026-10-29", True),
        ("DE", "2026-12-25", False),
        ("ZZ", "2026-12-25", True),  # Nobody knows such a country's holidays.
        ("ZZ", "2026-12-26", False),
    ],
)
def test_business_days_are_the_countrys(country: str, day: str, is_business_day: bool) -> None:
    assert Calendar(country).is_business_day(date.fromisoformat(day)) == is_business_day


# --- Operators' changes -----------------------------------------------------------------------


@pytest.mark.django_db
def test_operators_add_and_remove_holidays_of_a_country() -> None:
    changed(date(2026, 11, 3), is_holiday=True)
    changed(date(2026, 10, 29), is_holiday=False)

    turkey, germany = calendar.of("TR"), calendar.of("DE")

    assert not turkey.is_business_day(date(2026, 11, 3))
    assert turkey.is_business_day(date(2026, 10, 29))
    assert germany.is_business_day(date(2026, 11, 3))


@pytest.mark.django_db
def test_a_weekend_stays_one() -> None:
    changed(date(2026, 11, 7), is_holiday=False)

    assert not calendar.of("TR").is_business_day(date(2026, 11, 7))


@pytest.mark.django_db
def test_a_date_is_changed_once() -> None:
    changed(date(2026, 11, 3), is_holiday=True)

    with pytest.raises(IntegrityError, match="a_date_is_changed_once_per_country"):
        changed(date(2026, 11, 3), is_holiday=False)


@pytest.mark.django_db
def test_a_change_of_calendar_or_schedule_concerns_later_captures_only() -> None:
    till = Till(MerchantFactory())
    before = till.charge(9000, parts=3)
    changed(date(2026, 11, 3), is_holiday=True)
    schedule = {"delay_days": 2, "installments": "whole"}
    accounts.change(till.merchant, {"payout_schedule": schedule})

    after = till.charge(9000, parts=3)

    assert dates_of(before) == [date(2026, 11, 3), date(2026, 12, 3), date(2027, 1, 4)]
    assert dates_of(after) == [date(2026, 11, 5)]


def changed(day: date, *, is_holiday: bool) -> None:
    with transaction.atomic():
        HolidayChange.objects.create(
            id=ids.new("hol"),
            country="TR",
            date=day,
            is_holiday=is_holiday,
            reason="asked",
            created_at=clock.now(),
        )


def dates_of(movement: Movement) -> list[date | None]:
    entries = LedgerEntry.objects.filter(movement=movement, available_on__isnull=False)
    return list(entries.order_by("available_on").values_list("available_on", flat=True))


# --- For any charge ---------------------------------------------------------------------------


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    """Draw a country with some changed dates."""
    changes = draw(st.dictionaries(DAYS, st.booleans(), max_size=40))
    return calendar.changed(draw(st.sampled_from(["TR", "DE", "US", "IN", "ZZ"])), changes.items())


@given(
    captured_on=DAYS,
    delay=st.integers(0, 30),
    count=st.integers(1, 12),
    received=st.integers(1, 10**12),
    fee=st.integers(0, 10**12),
    days=calendars(),
)
def test_parts_sum_to_the_whole_on_business_days_that_never_go_back(
    captured_on: date, delay: int, count: int, received: int, fee: int, days: Calendar
) -> None:
    net = received - min(received, fee)
    terms = {"calendar": days, "delay_days": delay}

    dates = calendar.value_dates(captured_on, parts=count, **terms)

    lines = split(net, dates)
    assert sum(line.amount for line in lines) == net
    assert len(lines) == len(dates) == count
    assert max(line.amount for line in lines) == lines[0].amount
    assert {line.amount for line in lines[1:]} <= {net // count}
    assert dates == sorted(dates)
    assert all(map(days.is_business_day, dates))
    # The first is the delay's business day, counted by hand; more parts move none before them.
    assert dates[0] == counted_by_hand(captured_on, delay, days)
    assert dates[: count // 2] == calendar.value_dates(captured_on, parts=count // 2, **terms)


def counted_by_hand(day: date, delay: int, days: Calendar) -> date:
    while delay or not days.is_business_day(day):
        day += timedelta(days=1)
        delay -= bool(delay) and days.is_business_day(day)
    return day
