"""However money and time move, statements tie, and a final one stays the same to the byte."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import Phase

from core import clock
from ledger import paid_out
from ledger.totals import Sums
from panel.merchants import statement_rows
from payouts.statements import drafting
from payouts.statements.models import Statement
from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, tried
from tests.stage.statement_machine import KINDS, Months

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1800)]


def run(examples: int, *phases: Phase, draws: int = SEED) -> int:
    Months.fired = Counter()
    drawn = draw_until(
        lambda: KINDS - set(Months.fired), Months, examples, *phases, steps=25, draws=draws
    )
    print(f"{drawn} examples: {dict(Months.fired)}")  # noqa: T201
    return drawn


@pytest.mark.dear("whatever can happen to money over months, in orders of 25 steps each")
def test_statements_tie_in_whatever_order_money_and_months_move() -> None:
    run(4)


@pytest.mark.proof(part="order")
@pytest.mark.only_full("its twin above is in every run")
def test_statements_tie_however_much_moves() -> None:
    tried(run(100), "examples")


def the_last_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    lines = drafting._lines

    def all_of_the_time(by_type: dict[str, Sums], _before: object) -> list:
        return lines(by_type, [])

    patch.setattr(drafting, "_lines", all_of_the_time)


def settlements_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    of_types = paid_out.BETWEEN.replace("GROUP BY", "AND movement.type IS NOT NULL GROUP BY")
    patch.setattr(paid_out, "BETWEEN", of_types)


def the_file_tells_its_own_time(patch: pytest.MonkeyPatch) -> None:
    cells = statement_rows.cells

    def with_the_time(made: Statement, *, is_final: bool) -> list:
        return [(*row[:-1], str(clock.now())) for row in cells(made, is_final=is_final)]

    patch.setattr(statement_rows, "cells", with_the_time)


def settled_money_is_paid_out() -> None:
    """Take the steps that show a forgotten settlement, which draws come to by luck."""
    months = Months()
    try:
        months.begin(amount=5_000)
        months.settle(days=40)
        months.move("payout", amount=1, number=0, share=1)
    finally:
        months.teardown()
    assert Months.fired["settlement"] == Months.fired["payout"] == 1


def test_a_payout_is_made_of_settlements_and_topups() -> None:
    Months.fired = Counter()

    settled_money_is_paid_out()


@pytest.mark.planted
def test_a_forgotten_settlement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    Months.fired = Counter()
    settlements_are_forgotten(monkeypatch)

    with pytest.raises(AssertionError) as found:
        settled_money_is_paid_out()

    assert found.traceback[-1].name == "lines_sum_to_the_payout"


@pytest.mark.proof(part="order")
@pytest.mark.planted
@pytest.mark.dear("a fault that the machine has to find")
@pytest.mark.parametrize("fault", [the_last_is_forgotten, the_file_tells_its_own_time])
def test_a_planted_fault_is_found(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[pytest.MonkeyPatch], None]
) -> None:
    fault(monkeypatch)

    with pytest.raises(AssertionError):
        run(40, Phase.generate)
