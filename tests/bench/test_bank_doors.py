"""The figures of a bank's doors: ratios are of blocks of one round, and their middle one counts."""

from collections import Counter
from typing import Any
from unittest.mock import patch

from bench import bank_doors, bars
from bench.client import ClientCall
from bench.load import LoadTerms, Measured
from bench.payments import PATH


class _Seen:
    def __init__(self, per_second: float) -> None:
        self.per_second = per_second


def measured(per_second: float) -> Measured:
    cpu = Counter(web=9, bank=3, postgres=6)
    return Measured(_Seen(per_second), cpu)  # type: ignore[arg-type]


def test_a_door_is_held_against_the_sandboxs_in_its_own_round() -> None:
    # The machine is half as fast in the second round, and stands still for one block of the third.
    rounds = [
        {"sandbox": measured(100), "nestpay": measured(90), "garanti": measured(85)},
        {"sandbox": measured(50), "nestpay": measured(45), "garanti": measured(35)},
        {"sandbox": measured(100), "nestpay": measured(10), "garanti": measured(70)},
    ]

    own = {"nestpay_own_ms": 1.1, "garanti_own_ms": 0.9}
    figures = {"cores": 2, "load_before": 0.5, **bank_doors.figures_of(rounds), **own}

    assert figures["nestpay_to_sandbox"] == 0.9
    missed = bars.missed(bank_doors.bars_of(figures), figures)
    assert missed == ["garanti_to_sandbox", "nestpay_own_ms"]
    assert "nestpay / sandbox" in bank_doors.table(figures)


def test_doors_take_turns_at_being_first() -> None:
    asked: list[str] = []
    pays = {door: ClientCall(1, PATH, {}, door) for door in ("sandbox", "nestpay")}

    def note(_stage: Any, call: ClientCall, _terms: LoadTerms) -> Measured:
        asked.append(str(call.secret_key))
        return measured(1)

    with patch.object(bank_doors, "load", note):
        for turn in range(2):
            bank_doors.measure_round(None, pays, LoadTerms(1, 1), turn)  # type: ignore[arg-type]

    assert asked == ["sandbox", "nestpay", "nestpay", "sandbox"]
