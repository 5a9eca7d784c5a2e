"""`./dev check`: everything that must hold before a commit, apart from the tests."""

import os
import subprocess
import sys
import tempfile
import time
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


class Check(NamedTuple):
    name: str
    command: list[str]
    settings: dict[str, str]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="devstack-check-") as directory:
        passed = [_passes(check) for check in checks(Path(directory))]
    return 0 if all(passed) else 1


def checks(directory: Path) -> list[Check]:
    """Return all checks; none needs a running server, or settings of the developer's."""
    sandbox = environment.throw_away(environment.NOWHERE, directory)
    live = sandbox | environment.LIVE
    manage = [sys.executable, "manage.py"]
    return [
        Check("format", ["ruff", "format", "--check", *LINTED], sandbox),
        Check("lint", ["ruff", "check", *LINTED], sandbox),
        Check("words", [sys.executable, "-m", "devstack.words"], sandbox),
        Check("sentences", [sys.executable, "-m", "devstack.sentences"], sandbox),
        Check("doors", [sys.executable, "-m", "devstack.doors"], sandbox),
        Check("moments", [sys.executable, "-m", "devstack.moments"], sandbox),
        Check("imports", ["lint-imports"], sandbox),
        Check("migrations", [*manage, "makemigrations", "--check", "--dry-run"], sandbox),
        Check("schema", [*manage, "write_schema", "--check"], sandbox),
        Check("linter", [sys.executable, "-m", "devstack.schema_linter"], sandbox),
        Check("deployment", [*manage, "check", "--deploy", "--fail-level", "WARNING"], live),
        Check("types", ["mypy", *TYPED], sandbox),
    ]


def _passes(check: Check) -> bool:
    """Run one check; print its verdict and last line, and all of its output if it fails."""
    began = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=ROOT,
        env={**os.environ, **check.settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    verdict = "failed" if done.returncode else "ok"
    took = f"{time.monotonic() - began:5.1f}s"
    # The last line of most says how much was looked at: a check that looked at nothing shows.
    last = "" if done.returncode else done.stdout.rstrip().rpartition("\n")[2]
    print(f"{check.name:<12}{verdict:<8}{took}  {last}".rstrip(), flush=True)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
