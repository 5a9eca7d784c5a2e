"""The floor of a payment: pgbench writes the same rows in as many commits, and nothing else."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.cpu import cpu_of_each, taken_ms
from bench.rows import Written, added_by_each, changed, changed_by_each, held
from bench.stage import Stage
from devstack import binaries
from devstack.state import CannotContinue

# Enough to tell what each transaction writes from what comes now and then.
TRIAL_TRANSACTIONS = 20
# Runs count up from different numbers, so that no id comes twice.
TRIAL_FROM, RUN_FROM = 0, 10_000_000
PER_SECOND = re.compile(r"^tps = ([0-9.]+)", re.M)
COMMITTED = re.compile(r"^number of transactions actually processed: ([0-9]+)", re.M)


class Floor(NamedTuple):
    """Transactions that the database committed a second, and its CPU time for each in ms.

    pgbench's own CPU time is left out: no service has it.
    """

    per_second: float
    cpu_ms: Counter[str]


def trial(stage: Stage, url: str, script: Path) -> Written:
    """Run the script a few times; return what each transaction wrote."""
    rows, changes = held(url), changed(url)
    terms = ["-c", "1", "-t", str(TRIAL_TRANSACTIONS), "-D", f"i={TRIAL_FROM}"]
    _pgbench(stage, url, script, terms, seconds=1)
    return Written(
        added=added_by_each(rows, held(url), TRIAL_TRANSACTIONS),
        changed=changed_by_each(changes, changed(url), TRIAL_TRANSACTIONS),
    )


def measured(stage: Stage, url: str, script: Path, *, clients: int, seconds: int) -> Floor:
    """Let pgbench run the script as fast as the database commits it."""
    before = taken_ms(stage.pids)
    terms = ["-c", str(clients), "-j", str(min(clients, os.cpu_count() or 1))]
    terms += ["-T", str(seconds), "-D", f"i={RUN_FROM}"]
    printed = _pgbench(stage, url, script, terms, seconds=seconds)
    committed = int(_figure(COMMITTED, printed))
    return Floor(
        per_second=float(_figure(PER_SECOND, printed)),
        cpu_ms=cpu_of_each(before, taken_ms(stage.pids), committed),
    )


def _figure(pattern: re.Pattern[str], printed: str) -> str:
    """Return a figure that pgbench prints at its end."""
    found = pattern.search(printed)
    if found is None:
        raise CannotContinue(f"pgbench printed no figure of its own:\n{printed}")
    return found[1]


def _pgbench(stage: Stage, url: str, script: Path, terms: list[str], *, seconds: int) -> str:
    # Statements are sent as they are, literals included: as the service sends them.
    command = [str(binaries.postgres_bin() / "pgbench"), "-n", "-M", "simple", "-f", str(script)]
    return stage.output_of([*command, *terms, url], seconds=seconds)
