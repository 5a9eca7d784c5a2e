"""The measurement of reconciliation: a bank's file of a million lines, and as many sales."""

import json
import sys
from collections.abc import Sequence

from bench import bars
from bench.bars import Bar, Figures
from bench.client import ClientCall, Line
from bench.load import LoadTerms
from bench.payments import PATH
from bench.stage import Stage
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

LINES = 1_000_000
STEP_SECONDS = 1800
PARTS = ["file"]
BARS = [
    Bar("a file of lines", "lines"),
    Bar("  read and compared in s", "seconds", most=120),
    Bar("  CPU s, without PostgreSQL's", "cpu_seconds"),
    Bar("  MiB", "mib", most=200),
    Bar("  MiB / MiB with a tenth of the lines", "memory_times", most=1.1),
    Bar("  read again in s", "again_seconds", most=120),
    Bar("  differences planted", "planted"),
    Bar("  found, by both readings", "found"),
]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Fill in sales of one day, write the bank's file of it, and read it twice.

    :raises CannotContinue: a process failed, or not each planted difference was found once.
    """
    del parts
    count = terms.scale.of(LINES)
    every = str(count // 10)
    merchant = stage.open_merchant()
    with stage.service():
        _pay(stage, merchant["secret_key"])
    few, many = (str(stage.directory / f"{name}.csv") for name in ("few", "many"))
    say("bench", f"{count} sales are filled in, and files of them read")
    _step(stage, "fill_sales", "1", str(count // 10))
    _step(stage, "write_file", few, str(count // 10), every)
    small = _step(stage, "read_file", few)
    _step(stage, "fill_sales", str(count // 10 + 1), str(count))
    planted = _step(stage, "write_file", many, str(count), every)["planted"]
    large, again = _step(stage, "read_file", many), _step(stage, "read_file", many)
    if again["found"] != planted:
        raise CannotContinue(f"{again['found']} differences are open, {planted} were planted.")
    return {
        "lines": count,
        **large,
        "memory_times": large["mib"] / small["mib"],
        "again_seconds": again["seconds"],
        "planted": planted,
        "found": again["found"],
    }


def table(figures: Figures) -> str:
    return bars.table(BARS, figures, last="Each planted difference was found once.")


def _pay(stage: Stage, secret_key: str) -> None:
    line = Line(stage.ports.web)
    try:
        call = ClientCall(stage.ports.web, PATH, {}, secret_key, demo.first_payment())
        status, _content = line.ask(call.request())
    finally:
        line.close()
    if status != 200:
        raise CannotContinue(f"A payment was answered {status}.")


def _step(stage: Stage, *step: str) -> Figures:
    """Do a step in a process of its own; return its costs."""
    command = [sys.executable, "-m", "bench.reconcile_work", *step]
    figures: Figures = json.loads(stage.output_of(command, seconds=STEP_SECONDS))
    return figures
