"""The floor of a payment: pgbench writes the same rows in as many commits, and nothing else."""

import os
import re
from pathlib import Path

from bench.rows import Written, added_by_each, changed, changed_by_each, held
from bench.stage import Stage
from devstack import binaries

# Enough to tell what each transaction writes from what comes now and then.
TRIAL_TRANSACTIONS = 20
# Runs count up from different numbers, so that no id comes twice.
TRIAL_FROM, RUN_FROM = 0, 10_000_000
TPS = re.compile(r"^tps = ([0-9.]+)", re.M)


def trial(stage: Stage, url: str, script: Path) -> Written:
    """Run the script a few times; return what each transaction wrote."""
    rows, changes = held(url), changed(url)
    terms = ["-c", "1", "-t", str(TRIAL_TRANSACTIONS), "-D", f"i={TRIAL_FROM}"]
    _pgbench(stage, url, script, terms, seconds=1)
    return Written(
        added=added_by_each(rows, held(url), TRIAL_TRANSACTIONS),
        changed=changed_by_each(changes, changed(url), TRIAL_TRANSACTIONS),
    )


def per_second(stage: Stage, url: str, script: Path, *, clients: int, seconds: int) -> float:
    """Return how many transactions of the script the database commits in a second."""
    terms = ["-c", str(clients), "-j", str(min(clients, os.cpu_count() or 1))]
    terms += ["-T", str(seconds), "-D", f"i={RUN_FROM}"]
    printed = _pgbench(stage, url, script, terms, seconds=seconds)
    return float(TPS.search(printed)[1])


def _pgbench(stage: Stage, url: str, script: Path, terms: list[str], *, seconds: int) -> str:
    # Statements are sent as they are, literals included: as the service sends them.
    command = [binaries.postgres_bin() / "pgbench", "-n", "-M", "simple", "-f", script]
    return stage.output_of([*command, *terms, url], seconds=seconds)
