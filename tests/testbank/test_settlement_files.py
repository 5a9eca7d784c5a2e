"""The bank's settlement file: each line of moved money, and exactly one planted difference."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from testbank import behaviours, decisions, incoming, settlement_files
from testbank.models import IncomingMove, TransferMove
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_disputes import complained, wait
from tests.stage.bank_orders import authorize, refund, void
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.settlement_days import HEADER, busy_day, file_of, read, today

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def booked(text: str) -> list[tuple[str, str, str]]:
    """Return type, reference and amount of each line."""
    header, *lines = text.splitlines()
    assert header == HEADER
    fields = [line.split(",") for line in lines]
    return [(kind, reference, amount) for _day, kind, reference, _m, _c, amount, _v in fields]


def test_it_has_each_movement_of_the_day_once() -> None:
    begin_at_noon()
    for name in ("a", "b", "c", "held"):
        authorize(reference=name, capture=name != "held")
    void("a")
    refund(5000, "back_b", "b")
    refund(4000, "back_c", "c")
    decisions.bounce("back_c")

    assert booked(file_of(today())) == [
        ("sale", "a", "12500"), ("sale", "b", "12500"), ("sale", "c", "12500"),
        ("void", "a", "12500"),
        ("refund", "back_b", "5000"), ("refund", "back_c", "4000"),
        ("refund_return", "back_c", "4000"),
    ]  # fmt: skip


def test_a_dispute_moves_money_when_it_is_lost_and_when_it_is_regained() -> None:
    begin_at_noon()
    dispute = complained()
    wait(timedelta(0))
    assert [kind for kind, *_ in booked(file_of(today()))] == ["sale"]

    decisions.lose(dispute)
    decisions.regain(dispute)

    *_, back, again = booked(file_of(today()))
    assert (back, again) == (
        ("chargeback", dispute, "12500"), ("chargeback_return", dispute, "12500"),
    )  # fmt: skip


def test_transfers_out_and_in_and_back(acme: ApiClient, bank: BankTransport) -> None:
    day = busy_day(acme)

    moved = [one for one in booked(file_of(day)) if one[0].startswith("transfer")]

    assert [kind for kind, *_ in moved] == [
        "transfer_out", "transfer_out", "transfer_return",
        "transfer_in", "transfer_in", "transfer_in_return",
    ]  # fmt: skip
    assert len(moved) == TransferMove.objects.count() + IncomingMove.objects.count()


def test_a_day_ends_at_midnight_in_istanbul() -> None:
    begin_at_noon()
    first = today()
    authorize(reference="a", capture=True)
    end_the_day()
    authorize(reference="b", capture=True)

    assert booked(file_of(first)) == [("sale", "a", "12500")]
    assert booked(file_of(today())) == [("sale", "b", "12500")]
    wait(behaviours.LAPSES_AFTER)
    assert booked(file_of(today())) == []


def test_money_is_credited_on_the_next_day_from_monday_to_friday() -> None:
    begin_at_noon()
    while today().weekday() != 4:
        wait(timedelta(days=1))
    authorize(reference="a", capture=True)

    [_, line] = file_of(today()).splitlines()

    assert line.endswith(f",{today() + timedelta(days=3)}")


@pytest.mark.parametrize(
    ("wrong", "lines"), [("missing", 1), ("extra", 3), ("amount", 2), ("currency", 2),
                         ("duplicate", 3)],
)  # fmt: skip
def test_exactly_one_difference_is_planted(wrong: str, lines: int) -> None:
    begin_at_noon()
    for name in ("a", "b"):
        authorize(reference=name, capture=True)
    right = file_of(today()).splitlines()

    planted = file_of(today(), wrong=wrong).splitlines()

    assert len(planted) == lines + 1
    assert len({*planted} ^ {*right}) == {"amount": 2, "currency": 2, "duplicate": 0}.get(wrong, 1)


def test_an_invented_line_of_nobody_is_one_that_may_be_of_nobody() -> None:
    begin_at_noon()
    incoming.receive(amount=3000, currency="try", remittance="A gift")
    wait(timedelta(minutes=1))

    *_right, planted = booked(file_of(today(), wrong="extra"))

    assert read(file_of(today(), wrong="extra"), today()).unread == 0
    assert (planted[0], planted[2]) == ("transfer_in", "12345")


def test_a_day_without_money_has_nothing_to_alter() -> None:
    assert file_of(today()).splitlines() == [HEADER]
    for wrong in settlement_files.ALTERATIONS:
        with pytest.raises(CommandError, match="No money moved"):
            file_of(today(), wrong=wrong)


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    begin_at_noon()
    authorize(reference="a", capture=True)
    path, out = tmp_path / "bank.csv", StringIO()

    call_command("bank_settlement_file", date=today(), out=path, stdout=out)

    assert path.read_text() == file_of(today())
    assert "1 lines" in out.getvalue()
