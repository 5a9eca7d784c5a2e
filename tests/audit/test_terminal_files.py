"""The settlement file of one terminal: it speaks for that terminal's bookings, and no others."""

from collections.abc import Iterator
from datetime import date, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import acquirers
from acquirers import terminals
from acquirers.conversation import settling
from acquirers.models import Terminal
from acquirers.nestpay import settlement
from acquirers.outcomes import Answer, Outcome
from acquirers.settlement import COLUMNS, Row
from audit.daily import overdue
from audit.daily.models import DailyRun
from audit.reconciliation import reading
from audit.reconciliation.models import Difference, KeptLine
from audit.reconciliation.reading import Reading
from core import clock
from payments.bank import attempts
from payments.intents.models import Attempt
from testbank.nestpay.terminals import FIRST, SECOND, NestpayTerminal
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.nestpay.way import add_terminal, nestpay_behind
from tests.stage.protocol_way import ProtocolWay
from tests.stage.settlement_days import HEADER, a_file, found, reconcile, today
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import challenged

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

AN_HOUR = 3700
Job = DailyRun.Job


@pytest.fixture
def way() -> Iterator[ProtocolWay]:
    with nestpay_behind() as way:
        yield way


@pytest.fixture
def one(way: ProtocolWay) -> Terminal:
    return Terminal.objects.get(name=f"nestpay-{FIRST.client_id}")


def file_of(day: date, terminal: NestpayTerminal = FIRST, *, wrong: str | None = None) -> str:
    """Return the bank's file of one terminal's day."""
    out = StringIO()
    call_command(
        "bank_settlement_file", date=day, terminal=terminal.client_id, wrong=wrong, stdout=out
    )
    return out.getvalue()


def read(text: str, terminal: Terminal, *days: date) -> Reading:
    return reading.read(BytesIO(text.encode()), days=days, terminal=terminal)


def busy_day(shop: ApiClient) -> date:
    """Let sales, a void and two equal refunds move at the terminal on one day; return it."""
    begin_at_noon()
    old = shop.pay()["id"]
    end_the_day()
    begin_at_noon()
    shop.pay()
    shop.refund(shop.pay()["id"])
    for _ in range(2):
        assert shop.refund(old, 3000)["status"] == "succeeded"
    return today()


def test_a_file_agrees_with_its_terminals_bookings_and_leaves_others_alone(
    acme: ApiClient, one: Terminal, tmp_path: Path
) -> None:
    day = busy_day(acme)
    other = add_terminal(SECOND)
    acme.pay()
    file = file_of(day)
    kinds = [row.split(",")[1] for row in file.splitlines()[1:]]
    assert sorted(kinds) == ["refund", "refund", "sale", "sale", "void"]

    status, said = reconcile(file, tmp_path, "--terminal", one.name)

    assert status == 0, said
    assert (KeptLine.objects.count(), Difference.objects.count()) == (0, 0)
    assert reconcile(file_of(day, SECOND), tmp_path, "--terminal", other.name)[0] == 0
    assert_audit_is_clean()


@pytest.mark.parametrize(("source", "is_done"), [("tests.of_the_whole_bank", False), ("", True)])
def test_a_terminals_file_makes_up_for_no_run_of_the_whole_banks(
    source: str, is_done: bool, acme: ApiClient, one: Terminal, tmp_path: Path, settings: Any
) -> None:
    day = busy_day(acme)
    end_the_day()
    clock.advance(timedelta(hours=5))
    settings.SETTLEMENT_FILES = source

    assert reconcile(file_of(day), tmp_path, "--terminal", one.name, "--day", str(day))[0] == 0

    assert (Job.RECONCILE not in [trouble.job for trouble in overdue.troubles()]) is is_done


def test_a_bad_line_of_a_terminals_file_is_named_until_that_terminals_file_is_whole(
    acme: ApiClient, one: Terminal, tmp_path: Path, settings: Any
) -> None:
    day = busy_day(acme)
    other = add_terminal(SECOND)
    end_the_day()
    clock.advance(timedelta(hours=5))
    settings.SETTLEMENT_FILES = ""
    of_day, said = ("--day", str(day)), f"reconcile: 1 lines of {day} could not be read"

    reconcile(file_of(day) + "?\n", tmp_path, "--terminal", one.name, *of_day)
    reconcile(file_of(day, SECOND), tmp_path, "--terminal", other.name, *of_day)
    assert said in overdue.sentences()
    reconcile(file_of(day), tmp_path, "--terminal", one.name, *of_day)

    assert said not in overdue.sentences()


def test_a_bad_line_of_a_terminals_file_is_no_finding_where_the_whole_banks_is_read(
    acme: ApiClient, one: Terminal, tmp_path: Path
) -> None:
    day = busy_day(acme)
    end_the_day()

    reconcile(file_of(day) + "?\n", tmp_path, "--terminal", one.name)

    assert not [said for said in overdue.sentences() if "could not be read" in said]


def test_a_terminals_file_leaves_its_day_skipped_by_those_who_read_the_whole_banks(
    acme: ApiClient, one: Terminal, tmp_path: Path, settings: Any
) -> None:
    settings.SETTLEMENT_FILES = ""
    before = [today() - timedelta(days=count) for count in (4, 3, 2, 1)]
    reconcile(a_file(), tmp_path, "--day", str(before[0]))
    for day in before[1:3]:
        reconcile(a_file(), tmp_path, "--terminal", one.name, "--day", str(day))
    assert not [said for said in overdue.sentences() if "were not read" in said]

    reconcile(a_file(), tmp_path, "--day", str(before[3]))

    said = f"reconcile: the files from {before[1]} to {before[2]} were not read"
    assert said in overdue.sentences()


@pytest.mark.parametrize(
    ("wrong", "case"),
    [("missing", "missing_there"), ("extra", "missing_here"), ("amount", "amount_differs"),
     ("currency", "currency_differs"), ("duplicate", "twice")],
)  # fmt: skip
def test_what_differs_is_a_case_of_the_terminal_until_its_own_file_agrees(
    wrong: str, case: str, acme: ApiClient, one: Terminal
) -> None:
    day = busy_day(acme)
    other = add_terminal(SECOND)
    acme.pay()

    read(file_of(day, wrong=wrong), one)
    assert found() == [(case, "sale")]
    assert Difference.objects.get().terminal == one
    read(file_of(day, SECOND), other, day)
    assert found() == [(case, "sale")]

    read(file_of(day), one)
    assert found() == []
    assert not KeptLine.objects.exists()


def test_a_refund_that_is_missing_is_found_among_its_equals(acme: ApiClient, one: Terminal) -> None:
    day = busy_day(acme)
    header, *lines = file_of(day).splitlines()
    gone = next(row for row in lines if ",refund," in row)

    read(a_file(*(row for row in lines if row != gone)), one)

    assert found() == [("missing_there", "refund")]
    read("\n".join([header, gone]), one)
    read(file_of(day), one)
    assert found() == []


def test_a_line_of_anothers_terminal_is_missing_here(acme: ApiClient, one: Terminal) -> None:
    begin_at_noon()
    other = add_terminal(SECOND)
    acme.pay()

    read(file_of(today(), SECOND), one)

    assert found() == [("missing_here", "sale")]
    assert read(file_of(today(), SECOND), other).opened == 0


def test_a_line_waits_for_what_is_in_doubt_whatever_other_files_say(
    acme: ApiClient, one: Terminal, way: ProtocolWay
) -> None:
    begin_at_noon()
    way.fault = "cut_after"
    acme.pay()
    way.fault = None
    day, other = today(), add_terminal(SECOND)
    acme.pay()

    read(file_of(day), one)
    read(file_of(day, SECOND), other, day)

    assert found() == []
    assert KeptLine.objects.get().terminal_id == one.id
    sweep_after(AN_HOUR)
    end_the_day()
    read(file_of(today(), SECOND), other, today())
    assert not KeptLine.objects.exists()


def test_a_refund_without_a_number_yet_waits_and_is_known_by_it_later(
    acme: ApiClient, one: Terminal, way: ProtocolWay
) -> None:
    begin_at_noon()
    paid = acme.pay()["id"]
    end_the_day()
    begin_at_noon()
    acme.refund(paid, 3000)
    way.fault = "cut_after"
    acme.refund(paid, 3000)
    way.fault = None

    day = today()
    assert read(file_of(day), one).opened == 0
    assert KeptLine.objects.count() == 1

    sweep_after(AN_HOUR)
    assert read(a_file(), one, day - timedelta(days=7)).opened == 0
    assert not KeptLine.objects.exists()
    assert read(file_of(day), one, day).opened == 0


def test_a_late_charge_that_went_back_twice_is_a_case(acme: ApiClient, one: Terminal) -> None:
    late = challenged(acme)["id"]
    acme.post(f"/v1/payment_intents/{late}/cancel")
    begin_at_noon()
    attempt = Attempt.objects.get()
    bank_books.charge(GOOD_CARD, reference=attempt.acquirer_reference, merchant=acme.merchant.id)
    settling.settle(attempts.KIND, attempt, Outcome(Answer.APPROVED))
    end_the_day()
    for _ in range(2):
        sweep_after(10)
    day = today()
    file = file_of(day)
    assert read(file, one).opened == 0

    [line] = [row for row in file.splitlines() if ",refund," in row]
    _order, number = line.split(",")[2].split("-")
    read(f"{file}{line.replace(number, number[::-1])}\n", one)

    assert found() == [("missing_here", "refund")]


def test_a_terminals_merchant_is_that_of_each_line(
    acme: ApiClient, globex: ApiClient, one: Terminal
) -> None:
    begin_at_noon()
    acme.pay()
    own = terminals.add("own", kind="sandbox", merchant=globex.merchant)
    file = file_of(today())

    read(file, own)

    assert found() == [("missing_here", "sale")]
    assert Difference.objects.get().merchant == globex.merchant


def test_a_whole_file_still_speaks_for_all_terminals(acme: ApiClient, one: Terminal) -> None:
    begin_at_noon()
    acme.pay()
    read(a_file(), one, today())
    add_terminal(SECOND)
    acme.pay()

    reading.read(BytesIO(a_file().encode()), days=[today()])

    assert found() == [("missing_there", "sale")] * 2
    assert {row.terminal for row in Difference.objects.all()} == {*Terminal.objects.filter(
        kind="nestpay"
    )}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"amount": "125.00", "currency": "949"}, ("12500", "try")),
        ({"amount": "12500", "currency": "try"}, ("12500", "try")),
        ({"amount": "0.05", "currency": "978"}, ("5", "eur")),
    ],
)
def test_nestpays_amounts_and_currencies_are_read_as_in_a_history(
    changes: dict[str, str], shown: tuple[str, str]
) -> None:
    [row], refused = nestpay_rows(changes)

    assert ((row.amount, row.currency), refused) == (shown, [])


@pytest.mark.parametrize("changes", [
    {"amount": "125.0"}, {"amount": "1.250,00"}, {"amount": "-1.00"}, {"amount": "."},
    {"type": "refund", "reference": "0RDER0RDER0RDER0RDER"},
])  # fmt: skip
def test_what_nestpay_does_not_say_so_is_not_compared(changes: dict[str, str]) -> None:
    rows, [refusal] = nestpay_rows(changes)

    assert rows == []
    assert refusal[0] == 2
    assert refusal[1].startswith(tuple(changes))


def nestpay_rows(changes: dict[str, str]) -> tuple[list[Row], list[tuple[int, str]]]:
    fields = {
        "date": "2026-03-10", "type": "sale", "reference": "0RDER0RDER0RDER0RDER", "merchant": "",
        "currency": "949", "amount": "1.00", "value_date": "", **changes,
    }  # fmt: skip
    line = ";".join(f'"{fields[name]}"' for name in COLUMNS)
    refused: list[tuple[int, str]] = []
    file = BytesIO(f"{HEADER.replace(',', ';')}\n{line}\n".encode())
    rows = list(settlement.read(file, refused=lambda *refusal: refused.append(refusal)))
    return rows, refused


def test_each_kind_says_whether_it_reads_files() -> None:
    readers = [acquirers.settlement_of(Terminal(kind=kind)) for kind in acquirers.kinds()]

    assert settlement.read in readers
    assert all(reader is None or callable(reader) for reader in readers)


@pytest.mark.parametrize("name", ["nobody", "silent"])
def test_nothing_is_compared_without_a_terminal_or_a_reader(
    name: str, one: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminals.add("silent", kind="sandbox")
    monkeypatch.setattr("acquirers.sandbox.gateway.SandboxGateway.settlement_reader", None)

    with pytest.raises(CommandError, match="Nothing was compared") as refusal:
        reconcile(a_file(), tmp_path, "--terminal", name)

    assert refusal.value.returncode == 2
