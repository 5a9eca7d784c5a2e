"""Days that the job keeps are what their payments count to, whatever happens to these."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from audit import counted_days as check
from core import clock, local_days
from merchants.models import Merchant
from payments.intents import counted_days, day_counts
from payments.intents.day_counts import Cell
from payments.intents.models import CountedDay, CountedMerchant, LateChange, PaymentIntent
from tests.stage import processes
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.factories import PaymentFactory
from tests.stage.held_transactions import held_open
from tests.stage.lengths import length, tried

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Long ago: the trigger has the clock of PostgreSQL.
NOW = datetime(2024, 11, 26, 9, 0, tzinfo=UTC)
DECLINED = {"code": "card_declined", "decline_code": "insufficient_funds"}
# Of the places at which a run may be killed; there are about 60.
STEP = length(short=7, full=1)
UNPAID = {"status": "requires_payment_method", "authorized_minor": 0, "captured_minor": 0}


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """It is Tuesday, 12:00 in Istanbul, until the test says otherwise."""

    def at(moment: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)

    at(NOW)
    return at


def made(merchant: Merchant, at: datetime, **facts: Any) -> PaymentIntent:
    return PaymentFactory(merchant=merchant, created_at=at, **facts)


def pay(payment: PaymentIntent) -> None:
    PaymentIntent.objects.filter(id=payment.id).update(
        status="succeeded", authorized_minor=payment.amount, captured_minor=payment.amount
    )


def run() -> None:
    while counted_days.count_due():
        pass


def read(merchant: Merchant, back: int = 20) -> Counter[tuple[date, Any]]:
    """Return what the days until today count, as their readers see it."""
    merchant = Merchant.objects.get(id=merchant.id)
    today = day_counts.today(merchant)
    days = [today - timedelta(days=one) for one in reversed(range(back))]
    return _summed(day_counts.of_days(merchant, days))


def live(merchant: Merchant, back: int = 20) -> Counter[tuple[date, Any]]:
    """Return the same, counted from the payments alone."""
    merchant = Merchant.objects.get(id=merchant.id)
    today = day_counts.today(merchant)
    first = today - timedelta(days=back - 1)
    begin = local_days.begins(first, merchant.timezone)
    return _summed(day_counts.count(merchant, [(begin, NOW + timedelta(days=400))]))


def _summed(counted: list[tuple[date, Cell]]) -> Counter[tuple[date, Any]]:
    found: Counter[tuple[date, Any]] = Counter()
    for day, cell in counted:
        key = (day, cell.currency, cell.group, str(cell.value))
        for name in ("number", "charged", "paid", "refused"):
            found[*key, name] += getattr(cell, name)
    return found


def kept(merchant: Merchant) -> list[date]:
    rows = CountedDay.objects.for_merchant(merchant).order_by("day")
    return list(rows.values_list("day", flat=True))


def test_a_day_is_kept_once_it_has_been_over_for_half_an_hour(
    acme: ApiClient, noon: Callable[[datetime], None]
) -> None:
    midnight = local_days.begins(date(2024, 11, 27), "Europe/Istanbul")
    made(acme.merchant, NOW)
    for after, days in [(-1, []), (29, []), (30, [date(2024, 11, 26)])]:
        noon(midnight + timedelta(minutes=after))
        run()
        assert kept(acme.merchant) == days


def test_days_without_payments_have_no_row_and_are_not_counted_again(acme: ApiClient) -> None:
    made(acme.merchant, NOW - timedelta(days=3))
    run()

    assert kept(acme.merchant) == [date(2024, 11, 23)]
    assert CountedMerchant.objects.get(merchant=acme.merchant).until == date(2024, 11, 25)
    assert counted_days.count_due() == 0


def test_a_payment_that_changes_late_is_counted_at_once_and_kept_by_the_next_run(
    acme: ApiClient,
) -> None:
    late = made(acme.merchant, NOW - timedelta(days=3), **UNPAID)
    made(acme.merchant, NOW - timedelta(days=3))
    run()

    pay(late)

    assert read(acme.merchant) == live(acme.merchant)
    run()
    assert LateChange.objects.count() == 0
    [row] = CountedDay.objects.all()
    assert sum(cell[5] for cell in row.cells if cell[1] == "ending") == 2
    assert read(acme.merchant) == live(acme.merchant)


@pytest.mark.parametrize(
    ("change", "is_marked"),
    [
        ({"status": "canceled"}, True), ({"captured_minor": 5}, True),
        ({"installments": 3}, True), ({"currency": "eur"}, True),
        ({"last_payment_error": DECLINED}, True), ({"card": {"program": "bonus"}}, True),
        ({"description": "x"}, False), ({"metadata": {"a": "b"}}, False),
        ({"fraud": {"status": "review"}}, False),
    ],
)  # fmt: skip
def test_only_what_is_counted_marks_a_day(
    acme: ApiClient, change: dict[str, Any], is_marked: bool
) -> None:
    unpaid = UNPAID | {"authorized_minor": 10_000, "amount": 10_000}
    payment = made(acme.merchant, NOW - timedelta(days=3), **unpaid)

    PaymentIntent.objects.filter(id=payment.id).update(**change)

    assert LateChange.objects.exists() is is_marked


def test_a_payment_that_changes_soon_marks_nothing(acme: ApiClient) -> None:
    soon = made(acme.merchant, datetime.now(UTC) - timedelta(minutes=9), **UNPAID)
    pay(soon)

    assert not LateChange.objects.exists()


def test_marks_do_not_grow_with_the_changes_while_the_job_is_away(acme: ApiClient) -> None:
    unpaid = UNPAID | {"amount": 10_000, "authorized_minor": 10_000}
    for minute in range(0, 30, 6):
        payment = made(acme.merchant, NOW - timedelta(days=3, minutes=minute), **unpaid)
        for minor in range(1, 20):
            PaymentIntent.objects.filter(id=payment.id).update(captured_minor=minor)

    # From 11:36 to 12:00 in Istanbul.
    marked = [one.created_at for one in LateChange.objects.order_by("created_at")]
    assert marked == [NOW - timedelta(days=3, minutes=minutes) for minutes in (30, 15, 0)]


def test_the_moved_clock_counts_too(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    payment = made(acme.merchant, clock.now(), **UNPAID)
    clock.advance(timedelta(days=3))
    run()
    assert len(kept(acme.merchant)) == 1

    pay(payment)

    assert LateChange.objects.count() == 1
    run()
    [row] = CountedDay.objects.all()
    assert [cell[2] for cell in row.cells if cell[1] == "ending"] == ["charged"]


def test_a_merchant_in_another_zone_begins_from_nothing(acme: ApiClient) -> None:
    made(acme.merchant, datetime(2024, 11, 20, 22, 30, tzinfo=UTC))
    run()
    assert kept(acme.merchant) == [date(2024, 11, 21)]

    Merchant.objects.filter(id=acme.merchant.id).update(timezone="America/New_York")

    assert read(acme.merchant) == live(acme.merchant)
    run()
    assert kept(acme.merchant) == [date(2024, 11, 20)]
    assert read(acme.merchant) == live(acme.merchant)


@pytest.mark.parametrize("zone", ["America/New_York", "America/Santiago", "Asia/Kathmandu"])
def test_days_of_other_lengths_and_without_a_midnight_are_whole(
    acme: ApiClient, noon: Callable[[datetime], None], zone: str
) -> None:
    Merchant.objects.filter(id=acme.merchant.id).update(timezone=zone)
    for hour in range(0, 24 * 85, 11):
        made(acme.merchant, NOW - timedelta(hours=hour, minutes=hour % 60))
    run()

    assert len(kept(acme.merchant)) > 80
    assert read(acme.merchant, 90) == live(acme.merchant, 90)


def test_old_days_are_forgotten(acme: ApiClient, noon: Callable[[datetime], None]) -> None:
    made(acme.merchant, NOW - timedelta(days=2))
    run()
    noon(NOW + timedelta(days=200))
    run()

    assert kept(acme.merchant) == []


def test_a_run_that_is_killed_is_gone_on_with(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for back in range(1, 9):
        made(acme.merchant, NOW - timedelta(days=back))
    write, written = counted_days._write, []

    def die(merchant: Merchant, day: date) -> None:
        write(merchant, day)
        written.append(day)
        if len(written) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(counted_days, "_write", die)
    with pytest.raises(KeyboardInterrupt):
        counted_days.count_due()
    assert len(kept(acme.merchant)) == 3
    assert read(acme.merchant) == live(acme.merchant)

    run()

    assert len(kept(acme.merchant)) == 8
    assert read(acme.merchant) == live(acme.merchant)


def test_merchants_take_turns_so_that_none_with_much_to_count_holds_others_back(
    acme: ApiClient, globex: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for back in range(1, 5):
        made(acme.merchant, NOW - timedelta(days=back))
        made(globex.merchant, NOW - timedelta(days=back))
    write, turns = counted_days._write, []

    def note(merchant: Merchant, day: date) -> None:
        turns.append(merchant.id)
        write(merchant, day)

    monkeypatch.setattr(counted_days, "_write", note)
    run()

    both = {acme.merchant.id, globex.merchant.id}
    assert [{*turns[at : at + 2]} for at in range(0, 8, 2)] == [both] * 4


def test_whatever_happens_readers_see_what_the_payments_count(
    acme: ApiClient, globex: ApiClient, noon: Callable[[datetime], None]
) -> None:
    """Payments, late changes, runs, days and zones in any order, checked after each."""
    tried = 0
    for seed in range(3):
        draw, now = random.Random(seed), NOW + timedelta(days=60 * seed)  # noqa: S311
        payments: list[PaymentIntent] = []
        for _ in range(40):
            step = draw.choice(["pay", "pay", "open", "late", "late", "run", "day", "zone"])
            noon(now)
            if step in ("pay", "open"):
                facts = {} if step == "pay" else UNPAID | {
                    "last_payment_error": draw.choice([None, DECLINED])}  # fmt: skip
                at = now - timedelta(hours=draw.randrange(3 * 24))
                card = {"program": draw.choice(["bonus", None]), "domestic": draw.random() < 0.5}
                payments.append(made(acme.merchant, now, card=card, **facts))
                made(globex.merchant, at)
            elif step == "late" and payments:
                pay(draw.choice(payments))
            elif step == "run":
                counted_days.count_due()
            elif step == "day":
                now += timedelta(hours=draw.choice([1, 11, 24, 50]))
                noon(now)
            elif step == "zone":
                zone = draw.choice(["Europe/Istanbul", "Asia/Tokyo", "America/Lima"])
                Merchant.objects.filter(id=acme.merchant.id).update(timezone=zone)
            assert read(acme.merchant, 170) == live(acme.merchant, 170), (seed, step)
            tried += 1
    assert tried == 120


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_change_that_is_committed_while_its_day_is_counted_again_is_not_lost(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(acme.merchant, NOW - timedelta(days=3), **UNPAID)
    second = made(acme.merchant, NOW - timedelta(days=3), **UNPAID)
    run()
    pay(first)
    write = counted_days._write

    def beside() -> None:
        pay(second)
        # Of two runs at once the second leaves the merchant to the first.
        assert counted_days.count_due() == 0
        connection.close()

    def slow(merchant: Merchant, day: date) -> None:
        write(merchant, day)
        monkeypatch.setattr(counted_days, "_write", write)
        other = threading.Thread(target=beside)
        other.start()
        other.join()

    monkeypatch.setattr(counted_days, "_write", slow)
    counted_days.count_due()
    assert read(acme.merchant) == live(acme.merchant)
    run()

    [row] = CountedDay.objects.all()
    ended = {cell[2]: cell[3] for cell in row.cells if cell[1] == "ending"}
    assert ended == {"charged": 2}


def is_lost_beside_a_mark(acme: ApiClient) -> bool:
    """Commit a change whose mark is there already, after its day was counted again."""
    first = made(acme.merchant, NOW - timedelta(days=3), **UNPAID)
    second = made(acme.merchant, NOW - timedelta(days=3), **UNPAID)
    run()
    pay(first)
    with held_open(lambda: pay(second)):
        assert LateChange.objects.count() == 1
        run()
        assert read(acme.merchant) == live(acme.merchant)
    return read(acme.merchant) != live(acme.merchant)


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_change_that_rests_on_an_earlier_ones_mark_is_not_lost(acme: ApiClient) -> None:
    assert not is_lost_beside_a_mark(acme)

    run()
    assert LateChange.objects.count() == 0
    assert read(acme.merchant) == live(acme.merchant)


@pytest.mark.planted
@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_mark_that_the_change_does_not_lock_is_found(acme: ApiClient) -> None:
    with as_owner() as cursor:
        cursor.execute("SELECT pg_get_functiondef('payment_changes_late'::regproc)")
        [[trigger]] = cursor.fetchall()
        assert trigger.count("FOR KEY SHARE SKIP LOCKED") == 1
        cursor.execute(trigger.replace("FOR KEY SHARE SKIP LOCKED", ""))
    try:
        assert is_lost_beside_a_mark(acme)
    finally:
        with as_owner() as cursor:
            cursor.execute(trigger)


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_changes_of_one_quarter_do_not_wait_for_each_other_or_for_the_job(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    payments = [made(acme.merchant, NOW - timedelta(days=3), **UNPAID) for _ in range(3)]
    run()
    write = counted_days._write

    def pay_meanwhile(merchant: Merchant, day: date) -> None:
        with held_open(lambda: pay(payments[2])):
            write(merchant, day)

    with held_open(lambda: pay(payments[0])), held_open(lambda: pay(payments[1])):
        pass
    monkeypatch.setattr(counted_days, "_write", pay_meanwhile)
    counted_days.count_due()
    monkeypatch.setattr(counted_days, "_write", write)
    assert read(acme.merchant) == live(acme.merchant)

    run()

    assert LateChange.objects.count() == 0
    assert read(acme.merchant) == live(acme.merchant)


@pytest.mark.proof(part="kills")
@pytest.mark.timeout(600)
@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_run_that_is_killed_at_any_statement_neither_loses_nor_doubles_a_day(
    acme: ApiClient, globex: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    late = [made(acme.merchant, clock.now() - timedelta(days=back), **UNPAID) for back in (3, 2)]
    made(globex.merchant, clock.now() - timedelta(days=3))
    run()
    for payment in late:
        pay(payment)

    status, said = processes.run(
        "-m", "tests.stage.deadly_count", globex.merchant.id, str(STEP), patience_seconds=500
    )

    assert status == 0, said
    tried(int(said.split()[0]), "runs that were killed")
    assert LateChange.objects.count() == 0
    assert check.check().differences == []
    assert [len(kept(client.merchant)) for client in (acme, globex)] == [2, 1]
