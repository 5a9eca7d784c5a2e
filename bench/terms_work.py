"""Steps of the measurement of terms: `python -m bench.terms_work STEP ARGUMENTS`, as JSON.

Each is a process of its own, so that its memory and CPU time are its own.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from unittest.mock import patch

from django.db import connection

from bench import attempts_fill, audit_fill
from core import clock, context
from merchants import audit_chains
from merchants.models import Deed, RiskRule, RuleName
from payments.charging import card_testing
from payments.installments import bin_imports
from payments.intents.models import Attempt
from payments.risk.models import ListEntry

HEADER = "prefix,brand,card_type,country,issuer,program,commercial,three_d_secure_required\n"
# Prefixes of eight digits that are no test card's.
FIRST_PREFIX = 60_000_000
LOOKS = 5

Figures = dict[str, float]


def fill_attempts(merchant_id: str, count: str) -> Figures:
    attempts_fill.fill(merchant_id, int(count))
    return {"buffers": attempts_fill.buffers_of_counts(merchant_id)}


def fill_hour(merchant_id: str, count: str) -> Figures:
    attempts_fill.fill_hour(merchant_id, int(count))
    return {}


def watch_tested(merchant_id: str) -> Figures:
    """Look for merchants at which cards are tested, some times, at the end of the filled hour.

    However long it took to fill it in: the rule's window is minutes long.

    :raises ValueError: not that one alone was found.
    """
    found: list[list[str]] = []
    ended_at = Attempt.objects.latest("created_at").created_at
    with patch.object(clock, "now", lambda: ended_at):
        took = [_costs(lambda: found.append(card_testing.watch_tested())) for _ in range(LOOKS)]
    if found != [[merchant_id]] * LOOKS:
        raise ValueError(f"Cards are tested at {merchant_id} alone, and not at {found}.")
    return {"ms": median(one["seconds"] for one in took) * 1000}


def set_rules(ruled_id: str, free_id: str) -> Figures:
    """Let one merchant have an entry in its lists, and the other no rule about risk at all."""
    ListEntry.objects.create(
        merchant_id=ruled_id, list="block", kind="bin", value="999999", created_at=clock.now()
    )
    for rule in RuleName.values:
        currency = "try" if rule == RuleName.AMOUNT else ""
        RiskRule.objects.create(merchant_id=free_id, rule=rule, currency=currency, deed=Deed.OFF)
    return {}


def write_bins(file: str, count: str) -> Figures:
    line = "%d,visa,credit,TR,Test Bank A,bonus,false,false\n"
    with Path(file).open("w") as written:
        written.write(HEADER)
        written.writelines(line % (FIRST_PREFIX + number) for number in range(int(count)))
    return {}


def import_bins(file: str) -> Figures:
    with Path(file).open("rb") as opened:
        return _costs(lambda: bin_imports.import_file(opened))


def undo_bins() -> Figures:
    return _costs(bin_imports.undo)


def fill_audit(count: str) -> Figures:
    audit_fill.fill(int(count))
    return {}


def verify_audit() -> Figures:
    """:raises ValueError: a chain is not as it was filled."""
    problems: list[object] = []
    costs = _costs(lambda: audit_chains.verify(tell=problems.append))
    if problems:
        raise ValueError(f"{len(problems)} problems; one is: {problems[0]}.")
    return costs


def _costs(work: Callable[[], object]) -> Figures:
    connection.ensure_connection()  # To open it is no part of the work.
    began = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": time.perf_counter() - began[0],
        "cpu_seconds": time.process_time() - began[1],
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


STEPS: dict[str, Callable[..., Figures]] = {
    step.__name__: step
    for step in (
        fill_attempts, fill_hour, watch_tested, set_rules, write_bins, import_bins, undo_bins,
        fill_audit, verify_audit,
    )
}  # fmt: skip

if __name__ == "__main__":
    with context.work():
        print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))
