"""`manage.py verify_audit_log` finds rows of the ledger and of events that their owner changed."""

import io
import json
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from audit.daily import digests
from audit.daily.models import DayDigest
from events.models import Event
from ledger.models import LedgerEntry, Movement
from merchants.models import AuditEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.tampering import tamper

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def today() -> date:
    return datetime.now(UTC).date()


def days_on(days: int) -> datetime:
    """Return the noon of a day to come: at any hour, the days before it are over and settled."""
    return datetime.combine(today() + timedelta(days=days), time(12), UTC)


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    """A payment whose day is over and digested."""
    payment: str = acme.pay()["id"]
    assert digests.make_due(days_on(1)) == 1
    return payment


def verdict(*arguments: Any) -> tuple[list[str], str]:
    """Return the problems that the command names, and the heads that it prints."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    try:
        call_command("verify_audit_log", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        code = end.code
    lines = err.getvalue().splitlines()
    problems = [line.removeprefix("PROBLEM  ") for line in lines if line.startswith("PROBLEM")]
    assert f"{len(problems)} problems" in lines[-1]
    assert code == (1 if problems else 0)
    return problems, out.getvalue()


def test_an_untouched_day_is_fine_and_was_looked_at(paid: str) -> None:
    problems, heads = verdict()

    rows = {one.book: one.row_count for one in DayDigest.objects.all()}
    assert rows == {"ledger": Movement.objects.count(), "events": Event.objects.count()}
    assert min(rows.values()) > 0
    assert problems == []
    chains = {json.loads(line)["chain"] for line in heads.splitlines()}
    assert {"days:ledger", "days:events"} <= chains


CHANGED = {
    "an amount": ("ledger_entry", "UPDATE ledger_entry SET amount = amount * 2", "changed"),
    "a movement": ("ledger_movement", "UPDATE ledger_movement SET charge_id = 'x'", "changed"),
    "a removed entry": (
        "ledger_entry", "DELETE FROM ledger_entry WHERE id = (SELECT max(id) FROM ledger_entry)",
        "changed",
    ),
    "a removed movement": ("ledger_movement", "DELETE FROM ledger_movement", "gone"),
    "an event's body": ("events_event", "UPDATE events_event SET body = 'x'", "changed"),
    "a removed event": (
        "events_event", "DELETE FROM events_event WHERE id = (SELECT max(id) FROM events_event)",
        "gone",
    ),
    "an added event": (
        "events_event",
        "INSERT INTO events_event (id, merchant_id, type, aggregate_type, aggregate_id, sequence,"
        " request_id, body, created_at) SELECT id || '0', merchant_id, type, aggregate_type,"
        " aggregate_id, sequence + 100, request_id, body, created_at FROM events_event LIMIT 1",
        "added",
    ),
}  # fmt: skip


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("name", CHANGED)
def test_rows_that_were_tampered_with_are_told(paid: str, name: str) -> None:
    table, statement, said = CHANGED[name]
    book = "ledger" if table.startswith("ledger") else "events"

    with transaction.atomic():
        with past_guards() as cursor:
            cursor.execute(statement)
            assert cursor.rowcount > 0
        [problem] = verdict()[0]
        # Undone: at its commit the database itself would refuse some of them.
        transaction.set_rollback(True)

    assert problem.startswith(f"days:{book} #1: rows of ")
    assert said in problem


@pytest.fixture
def three_days(paid: str) -> str:
    assert digests.make_due(days_on(3)) == 2
    assert digests.make_due(days_on(3)) == 0
    assert verdict()[0] == []
    return paid


def test_a_digest_that_was_changed_is_told(three_days: str) -> None:
    tamper("UPDATE daily_daydigest SET row_count = 0 WHERE book = 'events' AND sequence = 2")
    tamper("UPDATE daily_daydigest SET made_at = now() WHERE book = 'events' AND sequence = 2")

    assert [one.partition(":")[0] for one in verdict()[0]] == ["days"]
    assert "was changed" in verdict()[0][0]


def test_a_digest_made_anew_without_the_key_is_told(three_days: str) -> None:
    tamper("UPDATE daily_daydigest SET hash = sha256('x') WHERE book = 'ledger' AND sequence = 2")

    told = [one.partition(": ")[0] for one in verdict()[0]]
    # Its own hash, the row of the audit log, and the day that follows it.
    assert told == ["days:ledger #2", "days:ledger #2", "days:ledger #3"]


def test_a_day_that_is_missing_in_between_is_told(three_days: str) -> None:
    tamper("DELETE FROM daily_daydigest WHERE book = 'ledger' AND sequence = 2")

    assert sorted(one.partition(": ")[0] for one in verdict()[0]) == [
        "days:ledger #2", "days:ledger #2",
    ]  # fmt: skip


def test_a_chain_that_was_cut_is_told_by_the_audit_log(three_days: str) -> None:
    tamper("DELETE FROM daily_daydigest WHERE sequence = 3")

    assert [one.partition(": ")[0] for one in verdict()[0]] == ["days:ledger #3", "days:events #3"]


def test_a_chain_made_anew_with_the_key_is_told_by_older_heads(
    three_days: str, tmp_path: Path
) -> None:
    heads = tmp_path / "heads"
    heads.write_text(verdict()[1])
    assert verdict("--heads", heads)[0] == []

    tamper("DELETE FROM daily_daydigest WHERE sequence = 3")

    assert "days:ledger #3: the digest is gone, or is another" in " ".join(
        verdict("--heads", heads)[0]
    )


def test_pruned_events_are_proved_by_the_chain(paid: str, settings: Any) -> None:
    settings.EVENT_DAYS = 0
    ids = list(Event.objects.values_list("id", flat=True))

    with connection.cursor() as cursor:
        cursor.execute("SELECT prune_events(%s)", [ids])

    assert verdict()[0] == []


def test_a_day_is_digested_once_it_is_over(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()
    early = datetime.combine(today() + timedelta(days=1), datetime.min.time(), UTC)

    digests.make_due(early + timedelta(minutes=59))
    before = DayDigest.objects.filter(day=today()).count()
    digests.make_due(early + timedelta(minutes=61))

    assert (before, DayDigest.objects.filter(day=today()).count()) == (0, 2)


def test_each_day_is_in_the_audit_log(paid: str) -> None:
    row = AuditEntry.objects.get(action="day.digested")

    kept = {one.book: one.hash.hex() for one in DayDigest.objects.all()}
    assert {book: said["hash"] for book, said in (row.after or {}).items()} == kept
    assert date.fromisoformat(row.subject) == today()


def test_every_column_is_in_the_digest() -> None:
    for model, columns in (
        (Movement, digests.MOVEMENT), (LedgerEntry, digests.ENTRY), (Event, digests.EVENT),
    ):  # fmt: skip
        assert {one.column for one in model._meta.concrete_fields} == {*columns}


def test_digests_that_are_made_no_more_are_told(paid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Later:
        """Django's clock, some days on."""

        @staticmethod
        def now() -> datetime:
            return timezone.now() + timedelta(days=4)

    monkeypatch.setattr(digests, "timezone", Later)

    problems, _heads = verdict()

    assert problems == [f"days:{book} #1: no digest was made since the one of {today()}"
                        for book in ("ledger", "events")]  # fmt: skip
