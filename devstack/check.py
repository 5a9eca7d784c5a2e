"""`./dev check`: everything that must hold before a commit, apart from the tests."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from devstack import environment
from devstack.state import ROOT

LINTED = [".", "dev"]  # `dev` has no suffix, so ruff does not find it by itself.
# Every room from the lowest to the highest; tests are run instead.
TYPED = [
    *("core", "events", "merchants", "api", "ledger", "cases", "vault", "testbank"),
    *("acquirers", "payments", "payouts", "webhooks", "audit"),
    *("panel", "config", "docsite", "devstack", "bench", "manage.py"),
]


# Each is one process that computes. More than four would only wait for the longest, the types.
AT_ONCE = min(4, os.cpu_count() or 1)


class Check(NamedTuple):
    name: str
    command: list[str]
    settings: dict[str, str]


class Verdict(NamedTuple):
    line: str
    output: str
    is_good: bool


def main() -> int:
    """Run all checks, several at once, and print their verdicts in the order of the list."""
    passed = True
    with (
        tempfile.TemporaryDirectory(prefix="devstack-check-") as directory,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        for verdict in pool.map(_verdict, checks(Path(directory))):
            print(verdict.line, flush=True)
            if not verdict.is_good:
                print(verdict.output, flush=True)
            passed = passed and verdict.is_good
    return 0 if passed else 1


def checks(directory: Path) -> list[Check]:
    """Return all checks; none needs a running server, or settings of the developer's."""
    sandbox = environment.throw_away(environment.NOWHERE, directory)
    live = sandbox | environment.LIVE
    manage = [sys.executable, "manage.py"]
    return [
        # The longest comes first; the others run beside it.
        Check("types", ["mypy", *TYPED], sandbox),
        Check("format", ["ruff", "format", "--check", *LINTED], sandbox),
        Check("lint", ["ruff", "check", *LINTED], sandbox),
        Check("words", [sys.executable, "-m", "devstack.words"], sandbox),
        Check("sentences", [sys.executable, "-m", "devstack.sentences"], sandbox),
        Check("doors", [sys.executable, "-m", "devstack.doors"], sandbox),
        Check("moments", [sys.executable, "-m", "devstack.moments"], sandbox),
        Check("imports", ["lint-imports"], sandbox),
        Check("migrations", [*manage, "makemigrations", "--check", "--dry-run"], sandbox),
        Check("upgrade", [sys.executable, "-m", "devstack.migration_linter"], sandbox),
        Check("schema", [*manage, "write_schema", "--check"], sandbox),
        Check("linter", [sys.executable, "-m", "devstack.schema_linter"], sandbox),
        Check("deployment", [*manage, "check", "--deploy", "--fail-level", "WARNING"], live),
    ]


def _verdict(check: Check) -> Verdict:
    """Run one check; its verdict has the last line, and all of the output if it fails."""
    began = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=ROOT,
        env={**os.environ, **check.settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    is_good = done.returncode == 0
    took = f"{time.monotonic() - began:5.1f}s"
    # The last line of most says how much was looked at: a check that looked at nothing shows.
    last = done.stdout.rstrip().rpartition("\n")[2] if is_good else ""
    line = f"{check.name:<12}{'ok' if is_good else 'failed':<8}{took}  {last}".rstrip()
    return Verdict(line, done.stdout, is_good)


if __name__ == "__main__":
    sys.exit(main())
