"""The suite stays quick: a test that takes long says why, and a busy machine fails none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.state import ROOT

COMPUTES = "sum(range(30_000_000))"
COMPUTES_ELSEWHERE = f"subprocess.run([sys.executable, '-c', '{COMPUTES}'])"
WAITS = "time.sleep(0.3)"


def run_of(
    directory: Path, does: str, *marks: str, limits: tuple[str, ...] = ("dear_seconds=0.05",)
) -> tuple[int, str]:
    """Run one test with limits of a twentieth of a second; return its status and what it prints."""
    lines = ["import subprocess, sys, time, pytest", *marks, "def test_it():", f"    {does}"]
    (directory / "test_it.py").write_text("\n".join(lines))
    options = ["-p", "devstack.dear_tests", "-p", "no:cacheprovider"]
    options += [f"--override-ini={limit}" for limit in limits]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", *options, "--rootdir", directory, directory],
        env={name: value for name, value in environment.items() if name != "BEHIND_POOLER"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("does", [COMPUTES, COMPUTES_ELSEWHERE])
@pytest.mark.parametrize("marks", [[], ["@pytest.mark.dear"]])
def test_a_test_that_computes_for_long_without_a_reason_fails(
    does: str, marks: list[str], tmp_path: Path
) -> None:
    status, said = run_of(tmp_path, does, *marks)

    assert status == 1
    assert "of a processor: make it cheaper, or say why" in said


@pytest.mark.parametrize("mark", ['dear("every day of a year is tried")', "slow", "proof"])
def test_a_test_that_says_why_or_runs_apart_may_take_long(mark: str, tmp_path: Path) -> None:
    status, said = run_of(tmp_path, COMPUTES, f"@pytest.mark.{mark}")

    assert (status, "without a reason" in said) == (0, False)


def test_a_test_that_waits_for_long_is_named_and_does_not_fail(tmp_path: Path) -> None:
    status, said = run_of(tmp_path, WAITS)

    assert status == 0
    assert "longer than 0.05 s without a reason" in said
    assert "s test_it.py::test_it" in said


def test_a_function_whose_cases_are_dear_together_says_why(tmp_path: Path) -> None:
    status, said = run_of(
        tmp_path, COMPUTES, limits=("dear_seconds=9", "dear_function_seconds=0.05")
    )

    assert status == 1
    assert "1 functions read" in said
    assert "over 0.05 s and unexplained: 1" in said
