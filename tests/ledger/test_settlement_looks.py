"""The look that beat begins: it settles everybody of whom something is due, where they are."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.db import DatabaseError

from core import clock, context
from ledger import agenda, book, parts, settlement
from ledger.models import Due, Movement, Run
from ledger.tasks import settle_due
from merchants import accounts
from merchants.models import RequestLog
from tests.stage.book_keeping import CAPTURED_ON, Till, limit
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory
from tests.stage.held_transactions import held_open, nobody_waits
from tests.stage.settlement_faults import settle_parts_again
from tests.stage.threads import together

# In real transactions: a look waits for what is not committed.
pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (settings.BASE_DIR / "docs" / "explanation" / "settlement.md").read_text()
RUNS = re.compile(r"^\| (.+?) \| (\d+) \| ([\d-]{10}) \| (\d+) \|$", re.M)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> "Now":
    """Let the service's now be the noon of the day on which tills charge."""
    found = Now()
    monkeypatch.setattr(clock, "moved", lambda _real: found.moment)
    return found


class Now:
    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 2, 12, tzinfo=UTC)

    def go_to(self, day: date, hour: int = 12, minute: int = 0) -> None:
        """Set the clock, in UTC."""
        self.moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


@pytest.fixture
def till() -> Till:
    return Till(MerchantFactory())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agenda, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(settlement, "PATIENCE_SECONDS", 0.05)


def held(till: Till) -> tuple[int, int]:
    sums = till.sums()
    return sums.get("pending", 0), sums.get("available", 0)


DAY = timedelta(days=1)
TOMORROW = CAPTURED_ON + DAY


def test_a_look_settles_everybody_of_whom_something_is_due(now: Now) -> None:
    tills = [Till(MerchantFactory()) for _ in range(3)]
    tills.append(Till(tills[0].merchant, "eur"))
    for till in tills:
        till.charge(10000)
    settle_due()
    assert not Run.objects.exists()

    now.go_to(TOMORROW)
    settle_due()

    assert [held(till) for till in tills] == [(0, 10000)] * 4
    assert list(Run.objects.values_list("date", "amount")) == [(TOMORROW, 10000)] * 4


def test_nothing_is_left_to_do_after_it(till: Till, now: Now) -> None:
    till.charge(10000)
    now.go_to(TOMORROW)
    settle_due()

    settle_due()

    assert Run.objects.count() == 1
    assert list(Due.objects.values_list("due_on", "settled_on")) == [(None, TOMORROW)]


@pytest.mark.parametrize(
    ("zone", "captured_on", "midnight"),
    # In UTC. Berlin and New York leave summer time on 25 October and 1 November.
    [
        ("Europe/Istanbul", "2026-11-02", "2026-11-02T21:00Z"),
        ("America/New_York", "2026-10-29", "2026-10-30T04:00Z"),
        ("America/New_York", "2026-10-30", "2026-11-02T05:00Z"),
        ("Europe/Berlin", "2026-10-22", "2026-10-22T22:00Z"),
        ("Europe/Berlin", "2026-10-23", "2026-10-25T23:00Z"),
        ("Pacific/Chatham", "2026-11-02", "2026-11-02T10:15Z"),
    ],
)
def test_a_day_begins_at_the_merchants_midnight(
    zone: str, captured_on: str, midnight: str, till: Till, now: Now
) -> None:
    accounts.change(till.merchant, {"timezone": zone})
    till.today = date.fromisoformat(captured_on)
    till.charge(10000)

    now.moment = datetime.fromisoformat(midnight) - timedelta(seconds=1)
    settle_due()
    assert held(till) == (10000, 0)
    now.moment += timedelta(seconds=1)
    settle_due()

    assert held(till) == (0, 10000)
    assert Run.objects.get().date == Movement.objects.get(kind="charge").available_on


def test_one_run_catches_up_when_the_clock_jumps(till: Till, now: Now) -> None:
    till.charge(9000, parts=3)
    now.go_to(date(2027, 6, 1))

    settle_due()

    assert [(run.date, run.amount) for run in Run.objects.all()] == [(date(2027, 6, 1), 9000)]


def test_parts_of_later_months_stay_on_the_agenda(till: Till, now: Now) -> None:
    till.charge(9001, parts=3)
    for day in (TOMORROW, date(2026, 12, 2), date(2026, 12, 3), date(2027, 1, 4)):
        now.go_to(day)
        settle_due()

    assert list(Run.objects.order_by("date").values_list("date", "amount")) == [
        (TOMORROW, 3001), (date(2026, 12, 3), 3000), (date(2027, 1, 4), 3000),
    ]  # fmt: skip


def test_its_event_carries_the_request_of_its_log(acme: ApiClient, now: Now) -> None:
    Till(acme.merchant).charge(10000)
    now.go_to(TOMORROW)

    settle_due()

    [event] = acme.events_of(f"bal_{acme.merchant.id.removeprefix('mer_')}")
    cause = RequestLog.objects.get(id=event["request_id"])
    assert (cause.kind, cause.path) == ("job", "ledger.tasks.settle_due")


def test_a_merchant_that_cannot_be_settled_stops_no_other(
    now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = sorted((Till(MerchantFactory()) for _ in range(2)), key=lambda t: t.merchant.id)
    broken.charge(10000)
    other.charge(10000)
    now.go_to(TOMORROW)
    write = book.settlement

    def fail(merchant_id: str, *arguments: Any, **terms: Any) -> Movement:
        if merchant_id == broken.merchant.id:
            raise DatabaseError("the connection is gone")
        return write(merchant_id, *arguments, **terms)

    with monkeypatch.context() as patch:
        patch.setattr(book, "settlement", fail)
        settle_due()
    assert (held(broken), held(other)) == ((10000, 0), (0, 10000))
    settle_due()

    assert held(broken) == (0, 10000)


def test_a_look_ends_when_its_time_is_over(now: Now, monkeypatch: pytest.MonkeyPatch) -> None:
    tills = [Till(MerchantFactory()) for _ in range(3)]
    for till in tills:
        till.charge(10000)
    now.go_to(TOMORROW)

    monkeypatch.setattr(settlement, "LOOK_SECONDS", 0.0)
    with context.work():
        assert settlement.settle_due(job="test") == 0
    monkeypatch.undo()
    monkeypatch.setattr(clock, "moved", lambda _real: now.moment)
    settle_due()

    assert [held(till) for till in tills] == [(0, 10000)] * 3


def test_more_merchants_than_a_claim_takes_are_settled(
    now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "MERCHANTS_PER_CLAIM", 2)
    tills = [Till(MerchantFactory(), currency) for currency in ("try", "eur", "try", "eur", "try")]
    tills += [Till(tills[0].merchant, "eur")]
    for till in tills:
        till.charge(10000)
    now.go_to(TOMORROW)

    settle_due()

    assert [held(till) for till in tills] == [(0, 10000)] * 6


# --- What comes late ----------------------------------------------------------------------------


def test_what_comes_late_is_settled_by_the_run_of_the_next_day(till: Till, now: Now) -> None:
    till.charge(10000)
    now.go_to(TOMORROW)
    settle_due()
    till.charge(5000)  # As if it had been captured on the day before.

    settle_due()
    assert held(till) == (5000, 10000)
    now.go_to(TOMORROW + DAY)
    settle_due()

    assert held(till) == (0, 15000)
    assert Run.objects.count() == 2


@pytest.mark.usefixtures("impatient")
def test_a_charge_held_open_across_runs_is_settled_once(till: Till, now: Now) -> None:
    other = Till(MerchantFactory())
    till.charge(10000)
    other.charge(10000)
    settle_due()
    with held_open(lambda: till.charged(20000)):
        till.charge(30000)
        now.go_to(TOMORROW)
        settle_due()
        assert held(till) == (30000, 10000)  # Up to the boundary of the look before.
        assert held(other) == (0, 10000)
        now.go_to(TOMORROW + DAY)
        settle_due()

    settle_due()
    now.go_to(TOMORROW + 2 * DAY)
    settle_due()

    assert held(till) == (0, 60000)
    assert sum(Run.objects.values_list("amount", flat=True)) == 70000


def test_a_refund_between_look_and_lock_is_seen(
    till: Till, now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge, look = till.charge(10000), agenda.note
    now.go_to(TOMORROW)

    def note_and_refund() -> int:
        edge = look()
        till.refund(charge, 4000)
        return edge

    with monkeypatch.context() as patched:
        patched.setattr(agenda, "note", note_and_refund)
        settle_due()
    # Overtaken: it waits for nothing, so that nobody behind it is delayed.
    assert held(till) == (6000, 0)

    settle_due()

    assert held(till) == (0, 6000)


# --- Beside others ------------------------------------------------------------------------------


def test_looks_beside_each_other_settle_each_merchant_once(now: Now) -> None:
    tills = [Till(MerchantFactory()) for _ in range(6)]
    for till in tills:
        till.charge(10000)
    now.go_to(TOMORROW)

    together([settle_due] * 4)
    settle_due()

    assert [held(till) for till in tills] == [(0, 10000)] * 6
    assert Run.objects.count() == 6


def test_a_schedule_that_changes_during_a_run_moves_nothing_that_is_charged(
    till: Till, now: Now
) -> None:
    till.charge(10000)
    now.go_to(TOMORROW)

    with held_open(lambda: accounts.change(till.merchant, {"payout_schedule": {"delay_days": 9}})):
        settle_due()

    settle_due()
    now.go_to(TOMORROW + DAY)
    settle_due()
    assert held(till) == (0, 10000)


def test_a_time_zone_that_goes_back_settles_no_date_twice(till: Till, now: Now) -> None:
    till.charge(10000)
    now.go_to(CAPTURED_ON, 21)  # 3 November in Istanbul.
    settle_due()
    accounts.change(till.merchant, {"timezone": "America/New_York"})
    till.charge(5000)

    settle_due()
    now.go_to(TOMORROW)
    settle_due()
    assert held(till) == (5000, 10000)
    now.go_to(TOMORROW + DAY)
    settle_due()

    assert held(till) == (0, 15000)


def refunded_in_flight(till: Till, now: Now) -> tuple[int, int]:
    """Settle beside a refund that is not committed, and again when it is."""
    charge = till.charge(10000)
    settle_due()  # The charge is on the agenda.
    now.go_to(TOMORROW)
    terms = {"amount": 4000}
    with held_open(lambda: till.taken(book.refund, charge, **terms)), nobody_waits():
        settle_due()
    settle_due()
    return held(till)


@pytest.mark.usefixtures("impatient")
def test_a_run_waits_for_a_refund_in_flight(till: Till, now: Now) -> None:
    assert refunded_in_flight(till, now) == (0, 6000)


@pytest.mark.usefixtures("impatient")
def test_a_run_without_the_accounts_lock_is_found(
    till: Till, now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "accounts", Mock())

    assert refunded_in_flight(till, now) == (-4000, 10000)


# --- Less than nothing ----------------------------------------------------------------------------


def test_a_run_fills_up_what_is_below_zero(acme: ApiClient, now: Now) -> None:
    till = Till(acme.merchant)
    limit(acme.merchant, 100_000)
    charge = till.charge(10000)
    now.go_to(TOMORROW)
    settle_due()
    till.payout(10000)
    till.today = TOMORROW
    till.charge(4000)
    till.refund(charge, 10000)
    now.go_to(TOMORROW + DAY)

    settle_due()

    assert held(till) == (0, -6000)
    told = acme.events_of(f"bal_{acme.merchant.id.removeprefix('mer_')}")[-1]["data"]
    assert told["object"]["available"] == [{"amount": -6000, "currency": "try"}]
    assert told["previous_attributes"]["available"] == [{"amount": -10000, "currency": "try"}]


# --- The page's examples ------------------------------------------------------------------------


def played(till: Till, example: str) -> None:
    charge = till.charge(10000, parts=3 if "parts" in example or "the same" in example else 1)
    if "refunded" in example:
        till.refund(charge, 4000)
    if "voided" in example:
        till.void(charge)


@pytest.mark.parametrize(("example", "pending", "of", "available"), RUNS.findall(PAGE))
def test_a_run_is_as_the_page_says(
    example: str, pending: str, of: str, available: str, till: Till, now: Now
) -> None:
    played(till, example)
    assert held(till)[0] == int(pending)
    now.go_to(date.fromisoformat(of))

    settle_due()

    assert held(till)[1] == int(available)
    assert Run.objects.get().amount == int(available)


# --- Planted faults -------------------------------------------------------------------------------


def all_settled_once(now: Now) -> bool:
    """Play two charges, one in parts, day by day; tell whether the books are right."""
    till = Till(MerchantFactory())
    till.charge(10001, parts=3)
    till.charge(10000)
    for days in range(1, 70):
        now.go_to(CAPTURED_ON + timedelta(days=days))
        settle_due()
    return held(till) == (0, 20001)


def test_the_play_finds_nothing_without_a_fault(now: Now) -> None:
    assert all_settled_once(now)


def test_a_part_that_is_settled_twice_is_found(now: Now, monkeypatch: pytest.MonkeyPatch) -> None:
    settle_parts_again(monkeypatch)

    assert not all_settled_once(now)


def test_a_remainder_that_is_dropped_is_found(now: Now, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parts.split
    monkeypatch.setattr(
        parts, "split", lambda amount, dates: whole(amount - amount % len(dates), dates)
    )

    with pytest.raises(DatabaseError, match="does not sum to zero"):
        all_settled_once(now)
