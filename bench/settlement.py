"""The measurement of settlement: a night's run during payments, looks, and long histories.

Every part must be settled once with one event; otherwise the run ends.
"""

import json
import sys
from collections.abc import Callable, Sequence

from bench import bars, paced
from bench.bars import Bar, Figures
from bench.client import ClientCall
from bench.load import LoadTerms, Scale
from bench.payments import PATH, SUCCEEDED
from bench.stage import Stage
from devstack import demo
from devstack.console import say

MERCHANTS, PARTS_OF_EACH = 10_000, 100
ENTRIES = 10_000_000
DAYS, CHARGES_OF_A_DAY = 1_000, 20
# With fewer days behind it there are days ahead on which nothing of a merchant is due.
DAYS_LEAST = 65
# Numbers of charges, which no other part has.
LOOK_CHARGES, ENTRIES_CHARGES, DAYS_CHARGES = 600_000_000, 1, 800_000_000
# Payments are made alone for at least so long: p99 of few says little.
ALONE_SECONDS = 15
# On a busy machine.
STEP_SECONDS = 1800
PARTS = ["run", "look", "entries", "days"]
ANOTHER = ("--email", "owner@globex.example")
THIRD = ("--email", "owner@initech.example")
BARS = [
    Bar("merchants", "merchants"),
    Bar("  pending parts that are due", "parts"),
    Bar("  settled beside payments in s", "run_seconds", most=120),
    Bar("  CPU s, without PostgreSQL's", "run_cpu_seconds"),
    Bar("  MiB", "run_mib"),
    Bar("  MiB / MiB with a tenth of them", "run_memory_times", most=1.1),
    Bar("a payment's p99 beside it / alone", "beside_times", most=2),
    Bar("  beside it, p99 ms", "beside_p99_ms"),
    Bar("  alone, p99 ms", "alone_p99_ms"),
    Bar("  beside it, p50 ms", "beside_p50_ms"),
    Bar("  alone, p50 ms", "alone_p50_ms"),
    Bar("a look with nothing due, merchants", "look_merchants"),
    Bar("  p50 ms", "look_ms", most=20),
    Bar("  with 100 new charges to note, p50 ms", "look_noting_ms"),
    Bar("entries of one merchant", "entries"),
    Bar("  parts of its day", "parts_of_a_day"),
    Bar("  its day's run, ms of SQL", "entries_run_ms", most=50),
    Bar("  buffers of its questions", "entries_run_buffers"),
    Bar("  a payout, ms of SQL", "entries_payout_ms", most=50),
    Bar("days behind a merchant", "days"),
    Bar("  behind another one", "few_days"),
    Bar("  a day's run / one of the other merchant", "days_run_times", most=1.2),
    Bar("  a payout / one of the other merchant", "days_payout_times", most=1.2),
    Bar("  a day's run, ms of SQL", "days_run_ms"),
    Bar("  a payout, ms of SQL", "days_payout_ms"),
]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Measure one part after the other.

    :param parts: names from `PARTS`; looks are taken at the merchants of `run`.
    :raises CannotContinue: a payment did not succeed, or a step failed.
    """
    told = [stage.open_merchant(), stage.open_another(*ANOTHER), stage.open_another(*THIRD)]
    ids = [one["merchant_id"] for one in told]
    measures: dict[str, Callable[[], Figures]] = {
        "run": lambda: _run(stage, terms, told[0]),
        "look": lambda: _step(stage, "look", ids[0], str(LOOK_CHARGES)),
        "entries": lambda: _entries(stage, ids[1], terms.scale),
        "days": lambda: _days(stage, (ids[2], ids[0]), terms.scale),
    }
    figures: Figures = {}
    for part in PARTS:
        if part in parts:
            figures |= measures[part]()
    return figures


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    return bars.table(BARS, figures, last="Every part was settled once, and told once.")


# --- A night's run ------------------------------------------------------------------------------


def _run(stage: Stage, terms: LoadTerms, told: dict[str, str]) -> Figures:
    count = terms.scale.of(MERCHANTS)
    like = told["merchant_id"]
    few = max(1, count // 10)
    say("bench", f"{few} merchants of {PARTS_OF_EACH} parts each are settled")
    _step(stage, "fill_merchants", "few", str(few), str(PARTS_OF_EACH), like)
    small = _step(stage, "settle", "few")
    say("bench", f"{count} merchants of {PARTS_OF_EACH} parts each, beside payments")
    _step(stage, "fill_merchants", "many", str(count), str(PARTS_OF_EACH), like)
    call = ClientCall(stage.ports.web, PATH, SUCCEEDED, told["secret_key"], demo.first_payment())
    with stage.service():
        waits, run = paced.beside(
            call, terms, lambda: _step(stage, "settle", "many"), alone_seconds=ALONE_SECONDS
        )
    return {
        "merchants": count,
        "parts": count * PARTS_OF_EACH,
        **{f"run_{name}": value for name, value in run.items()},
        "run_memory_times": run["mib"] / small["mib"],
        **waits,
    }


# --- Long histories -----------------------------------------------------------------------------


def _entries(stage: Stage, merchant_id: str, scale: Scale) -> Figures:
    count = scale.of(ENTRIES)
    say("bench", f"{count} entries of one merchant")
    _step(stage, "fill_entries", merchant_id, str(count), str(ENTRIES_CHARGES))
    _add_to_checkpoints(stage)
    found = _step(stage, "runs_and_payouts", merchant_id)
    return {
        "entries": count,
        "parts_of_a_day": found["parts_of_a_day"],
        "entries_run_ms": found["run_ms_0"],
        "entries_run_buffers": found["run_buffers"],
        "entries_payout_ms": found["payout_ms_0"],
    }


def _days(stage: Stage, merchant_ids: Sequence[str], scale: Scale) -> Figures:
    """Compare a merchant with days behind it and one with a tenth of them, in turns."""
    count, first = max(2 * DAYS_LEAST, scale.of(DAYS)), DAYS_CHARGES
    few = max(DAYS_LEAST, count // 10)
    say("bench", f"{count} days of one merchant, {few} of another")
    for merchant_id, days in zip(merchant_ids, (count, few), strict=True):
        step = ("fill_days", merchant_id, str(days), str(CHARGES_OF_A_DAY), str(first))
        first = int(_step(stage, *step)["next"])
    _add_to_checkpoints(stage)
    found = _step(stage, "runs_and_payouts", *merchant_ids)
    return {
        "days": count,
        "few_days": few,
        "days_run_times": found["run_ms_0"] / found["run_ms_1"],
        "days_payout_times": found["payout_ms_0"] / found["payout_ms_1"],
        "days_run_ms": found["run_ms_0"],
        "days_payout_ms": found["payout_ms_0"],
    }


# --- Steps --------------------------------------------------------------------------------------


def _add_to_checkpoints(stage: Stage) -> None:
    """Let the checkpoint job add all that is new, as it does each minute."""
    stage.output_of([sys.executable, "-m", "bench.ledger_job"], seconds=STEP_SECONDS)


def _step(stage: Stage, *step: str) -> Figures:
    """Do a step in a process of its own; return its costs."""
    command = [sys.executable, "-m", "bench.settlement_work", *step]
    figures: Figures = json.loads(stage.output_of(command, seconds=STEP_SECONDS))
    return figures
