"""Statements: a month is closed once, with all that was written for it, and stays as it is."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from audit import statements as audit_statements
from core import clock, local_days
from ledger import balance, book, boundary, checkpoints
from ledger.models import Movement
from merchants.models import Merchant
from payouts.statements import closing, drafting
from payouts.statements.models import Statement
from tests.stage.book_keeping import Till, price
from tests.stage.database_role import past_guards
from tests.stage.factories import MerchantFactory
from tests.stage.journal_writers import open_accounts, writing

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

NOVEMBER = datetime(2026, 11, 10, 12, tzinfo=UTC)


@pytest.fixture
def merchant() -> Merchant:
    return open_accounts(MerchantFactory(timezone="Europe/Istanbul"))


@pytest.fixture
def till(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> Till:
    monkeypatch.setattr(boundary, "LOOK_AGAIN_SECONDS", 0.01)
    go_to(monkeypatch, NOVEMBER)
    return Till(merchant)


def go_to(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(clock, "now", lambda: moment)


def close(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> list[Statement]:
    """Let the jobs run at a moment; return all statements, the first one first."""
    go_to(monkeypatch, moment)
    checkpoints.advance()
    checkpoints.advance()
    closing.close_due()
    for check in audit_statements.CHECKS:
        assert check().differences == []
    return list(Statement.objects.order_by("currency", "month"))


def numbers(statement: Statement) -> dict[str, list[int]]:
    return {kind: rest for kind, *rest in statement.lines if any(rest)}


def test_a_month_has_its_balances_and_each_kind_of_movement(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    price(till.merchant)
    charge = till.charge(100_00, surcharge=5_00)
    till.charge(50_00)
    refund = till.refund(charge, 40_00)
    till.topup(500_00)
    till.payout(90_00)
    till.dispute(charge, 10_00)
    before = close(monkeypatch, datetime(2026, 11, 30, 21, 5, tzinfo=UTC))

    [made] = close(monkeypatch, datetime(2026, 11, 30, 21, 10, tzinfo=UTC))

    funds = balance.funds(till.merchant.id, "try")
    rows = list(Movement.objects.filter(merchant=till.merchant, type__isnull=False))
    assert before == []
    assert (made.month, made.opening) == (date(2026, 11, 1), 0)
    assert (made.available, made.pending) == (funds.available, funds.pending)
    assert made.closing == funds.available + funds.pending == sum(one.net for one in rows)
    assert numbers(made)["charge"][0] == 2
    assert numbers(made)["refund"] == [1, refund.amount, refund.fee, refund.net]
    assert numbers(made)["topup"] == [1, 500_00, 0, 500_00]
    assert made.reserved == till.sums()["reserved"]
    assert made.surcharge == till.sums()["surcharge"] > 0
    assert (made.begins_at, made.ends_at) == (
        datetime(2026, 10, 31, 21, tzinfo=UTC), datetime(2026, 11, 30, 21, tzinfo=UTC),
    )  # fmt: skip


def test_each_begins_where_the_last_one_ended(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    till.topup(500_00)
    close(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))
    till.payout(90_00)

    first, second = close(monkeypatch, datetime(2027, 1, 1, tzinfo=UTC))

    assert (second.begins_at, second.opening) == (first.ends_at, first.closing) == (
        first.ends_at, 500_00,
    )  # fmt: skip
    assert (second.net, second.closing) == (-90_00, 410_00)


def test_a_month_in_which_nothing_moved_has_its_statement_too(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(500_00)

    made = close(monkeypatch, datetime(2027, 2, 1, tzinfo=UTC))

    assert [one.month for one in made] == [date(2026, 11, 1), date(2026, 12, 1), date(2027, 1, 1)]
    assert [one.closing for one in made] == [500_00] * 3
    assert closing.close_due() == 0


def test_a_clock_that_was_moved_over_three_months_leaves_no_month_out(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(1_00)
    go_to(monkeypatch, NOVEMBER + timedelta(days=95))
    till.topup(2_00)

    made = close(monkeypatch, NOVEMBER + timedelta(days=95))

    assert [one.month.month for one in made] == [11, 12, 1]
    assert [one.closing for one in made] == [1_00] * 3
    running = drafting.running(till.merchant, "try")
    assert running
    assert (running.month, running.opening, running.net) == (date(2027, 2, 1), 1_00, 2_00)


def test_nothing_is_closed_before_all_sessions_of_the_month_have_ended(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "PATIENCE_SECONDS", 0.05)
    till.topup(1_00)
    with writing() as writer:
        writer.run("SET timezone TO 'UTC'")
        writer.topup(till.merchant, 5_00)
        waiting = close(monkeypatch, datetime(2027, 1, 1, tzinfo=UTC))
        writer.commit()

    [first, *_] = close(monkeypatch, clock.now())

    assert waiting == []
    assert first.closing == sum(
        one.net for one in Movement.objects.filter(created_at__lt=first.ends_at)
    )


def test_nothing_is_closed_while_the_checkpoints_are_behind(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(1_00)
    go_to(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))

    assert closing.close_due() == 0
    assert len(close(monkeypatch, clock.now())) == 1


def test_what_is_written_late_all_the_same_belongs_to_the_next_one(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(1_00)
    close(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))
    go_to(monkeypatch, NOVEMBER)
    till.topup(2_00)

    first, second = close(monkeypatch, datetime(2027, 1, 1, tzinfo=UTC))

    assert (first.closing, second.opening, second.net) == (1_00, 1_00, 2_00)
    assert numbers(second) == {"topup": [1, 2_00, 0, 2_00]}


def test_a_refund_that_bounces_later_belongs_to_the_month_in_which_it_bounces(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge = till.charge(100_00)
    refund = till.refund(charge, 40_00)
    till.then(refund, book.refund_paid)
    close(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))
    till.then(refund, book.refund_bounced)

    first, second = close(monkeypatch, datetime(2027, 1, 1, tzinfo=UTC))

    assert numbers(first)["refund"] == [1, -40_00, 0, -40_00]
    assert numbers(second) == {"refund_failure": [1, 40_00, 0, 40_00]}


def test_a_balance_below_zero_is_carried_over(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    charge = till.charge(100_00)
    till.settle(days=3)
    till.payout(100_00)
    till.dispute(charge, 30_00)
    close(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))

    first, second = close(monkeypatch, datetime(2027, 1, 1, tzinfo=UTC))

    assert (first.closing, first.available, first.reserved) == (-30_00, -30_00, 30_00)
    assert (second.opening, second.closing) == (-30_00, -30_00)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("Europe/Berlin", 31 * 24 - 1),
        ("America/Santiago", 30 * 24 - 1),
        ("Asia/Kathmandu", 31 * 24),
    ],
)
def test_a_month_with_a_shorter_day_is_whole(
    monkeypatch: pytest.MonkeyPatch, zone: str, hours: int
) -> None:
    month = date(2026, 9, 1) if zone.startswith("America") else date(2026, 3, 1)
    merchant = open_accounts(MerchantFactory(timezone=zone))
    first, last = local_days.begins(month, zone), drafting.ends(month, merchant)
    for moment in (first, last - timedelta(microseconds=1), last):
        go_to(monkeypatch, moment)
        Till(merchant).topup(1_00)

    [made] = close(monkeypatch, last + timedelta(hours=1))

    assert (made.ends_at - made.begins_at) == timedelta(hours=hours)
    assert numbers(made)["topup"] == [2, 2_00, 0, 2_00]


def test_a_change_of_zone_makes_one_longer_or_shorter_and_loses_nothing(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(1_00)
    close(monkeypatch, datetime(2026, 12, 1, tzinfo=UTC))
    Merchant.objects.filter(pk=till.merchant.pk).update(timezone="America/New_York")
    till.merchant.refresh_from_db()
    go_to(monkeypatch, datetime(2026, 12, 31, 23, tzinfo=UTC))  # January in Istanbul.
    till.topup(2_00)

    first, second = close(monkeypatch, datetime(2027, 1, 1, 6, tzinfo=UTC))

    assert second.begins_at == first.ends_at == datetime(2026, 11, 30, 21, tzinfo=UTC)
    assert second.ends_at == datetime(2027, 1, 1, 5, tzinfo=UTC)
    assert second.net == 2_00


def test_currencies_and_merchants_have_their_own(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_accounts(MerchantFactory())
    till.topup(1_00)
    Till(till.merchant, "usd").topup(2_00)
    Till(other).topup(4_00)

    made = close(monkeypatch, datetime(2026, 12, 2, tzinfo=UTC))

    found = {(one.merchant_id, one.currency): one.closing for one in made}
    assert found == {
        (till.merchant.id, "try"): 1_00, (till.merchant.id, "usd"): 2_00, (other.id, "try"): 4_00,
    }  # fmt: skip


def test_a_pot_that_another_look_holds_is_left_to_it(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.topup(1_00)
    checkpoints.advance()
    go_to(monkeypatch, datetime(2026, 12, 2, tzinfo=UTC))
    # The other look's session is open: that alone would hold this one back.
    monkeypatch.setattr(closing, "_is_written", lambda: True)

    with writing() as writer:
        writer.run("SELECT FROM ledger_account WHERE kind = 'surcharge' FOR NO KEY UPDATE")
        made = closing.close_due()

    assert made == 0
    assert closing.close_due() == 1


CHANGES = [
    "UPDATE statements_statement SET reserved = reserved + 1",
    "DELETE FROM statements_statement",
    "TRUNCATE statements_statement",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_statement_is_never_changed(
    till: Till, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    till.topup(1_00)
    close(monkeypatch, datetime(2026, 12, 2, tzinfo=UTC))

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


@pytest.mark.parametrize(
    "wrong", [{"opening": 2_00, "net": -1_00}, {"month": date(2027, 1, 1)}, {"boundary": 0},
              {"begins_at": datetime(2026, 11, 30, tzinfo=UTC)}],
)  # fmt: skip
def test_one_that_does_not_go_on_from_the_last_is_refused(
    till: Till, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    till.topup(1_00)
    first = close(monkeypatch, datetime(2026, 12, 2, tzinfo=UTC))
    go_to(monkeypatch, datetime(2027, 1, 2, tzinfo=UTC))
    made = drafting.draft(till.merchant, "try", date(2026, 12, 1), first)
    for name, value in wrong.items():
        setattr(made, name, value)

    with pytest.raises(DatabaseError):
        made.save(force_insert=True)


@pytest.mark.parametrize(
    "change",
    ["available = available + 1, pending = pending - 1", "reserved = 7", "surcharge = 7",
     "lines = jsonb_set(lines, '{0,1}', '9')", "lines = jsonb_set(lines, '{0,3}', '9')"],
)  # fmt: skip
def test_the_audit_finds_a_statement_that_is_not_its_entries(
    till: Till, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    till.charge(1_00)
    close(monkeypatch, datetime(2026, 12, 2, tzinfo=UTC))

    with past_guards() as cursor:
        cursor.execute(f"UPDATE statements_statement SET {change}")  # noqa: S608

    assert [one for check in audit_statements.CHECKS for one in check().differences]
