"""The gate plays two cases of a table that touches the database, the same in every run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.state import ROOT

SCENE = """
import pytest

@pytest.fixture
def db(): pass

@pytest.mark.parametrize("case", "abcd")
def test_plain(case): pass

@pytest.mark.parametrize("case", "abcd")
def test_touches(case, db): assert case != "d"

@pytest.mark.parametrize("case", ["a", pytest.param("b", marks=pytest.mark.hardest), "c"])
def test_marked(case, db): pass

@pytest.mark.parametrize("case", "abc")
@pytest.mark.every_case("money")
def test_safety(case, db): pass

@pytest.mark.browser
@pytest.mark.parametrize("look", ["tr", "en"])
def test_walk(look, db): pass

@pytest.mark.browser
@pytest.mark.parametrize("look", ["tr", "en"])
def test_stroll(look, db): pass

@pytest.mark.browser
@pytest.mark.parametrize("fault", "abc")
def test_faults(fault, db): pass

@pytest.mark.proof(part="races")
@pytest.mark.parametrize("case", "abc")
def test_proof(case, db): pass
"""
WHOLE = {
    *("plain[a]", "plain[b]", "plain[c]", "plain[d]"),
    *("safety[a]", "safety[b]", "safety[c]"),
}
WHOLE |= {"proof[a]", "proof[b]", "proof[c]"}
TWO = {"touches[a]", "touches[d]", "marked[a]", "marked[b]", "faults[a]", "faults[c]"}
ONE = {"walk[tr]", "stroll[en]"}
TABLES = {*(f"touches[{case}]" for case in "abcd"), *(f"marked[{case}]" for case in "abc")}
TABLES |= {f"{walk}[{look}]" for walk in ("walk", "stroll") for look in ("tr", "en")}
TABLES |= {*(f"faults[{case}]" for case in "abc")}


def run_of(directory: Path, *arguments: str) -> tuple[set[str], str]:
    """Run the scene; return the tests that were played, and what is printed."""
    (directory / "test_scene.py").write_text(SCENE)
    options = ["-p", "tests.stage.cases", "-p", "no:cacheprovider", "--rootdir", str(directory)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("PROVE", None)
    ignored = ["-W", "ignore::pytest.PytestUnknownMarkWarning"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *ignored, *options, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
    )
    lines = [line.split() for line in done.stdout.splitlines() if "::test_" in line]
    played = {first.partition("::test_")[2] for first, *rest in lines if rest[:1] != ["-"]}
    return {name for name in played if name}, done.stdout


def test_of_a_table_at_the_database_the_first_and_the_hardest_case_are_played(
    tmp_path: Path,
) -> None:
    played, printed = run_of(tmp_path)

    assert played == WHOLE | TWO | ONE
    assert "6 cases of 5 tables were left out" in printed
    assert "2 more cases of this table" in printed
    assert "./dev test -m '' test_scene.py::test_touches" in printed


@pytest.mark.parametrize(
    ("arguments", "played"),
    [
        (["--all-cases"], WHOLE | TABLES),
        (["--cut-tables"], TABLES),
        (["test_scene.py::test_marked"], {"marked[a]", "marked[b]", "marked[c]"}),
        (["test_scene.py::test_touches[c]"], {"touches[c]"}),
    ],
)
def test_all_cases_are_played_when_they_are_asked_for(
    arguments: list[str], played: set[str], tmp_path: Path
) -> None:
    assert run_of(tmp_path, *arguments)[0] == played
