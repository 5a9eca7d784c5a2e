"""`./dev prove` runs each part once per commit and seed, and holds only if something was tried."""

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis.stateful import RuleBasedStateMachine, rule

from devstack import prove
from devstack.prove import PARTS, Held, Run
from devstack.state import ROOT
from tests.stage import lengths
from tests.stage.drawn_steps import draw_until

TRIES = "import os; open(os.environ['PROVE_TRIED'], 'a').write('[\"rounds\", 4]\\n' * 2)"
PROVED = [
    "tests/webhooks/test_order.py", "tests/webhooks/test_chaos.py",
    "tests/payments/disputes/test_kill_disputes.py", "tests/payments/intents/test_overtaken.py",
]  # fmt: skip
HELD = Held(1.0, {"rounds": 8})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "proved.json"


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Return the program in Python that stands for the proofs of each part."""
    programs = dict.fromkeys(PARTS, TRIES)
    monkeypatch.setenv("DEV_STATE", str(tmp_path))
    monkeypatch.setattr(prove, "_commit", lambda: "c0ffee")
    monkeypatch.setattr(prove, "files_of_parts", lambda: dict.fromkeys(PARTS, []))
    monkeypatch.setattr(prove, "command", lambda part, _: [sys.executable, "-c", programs[part]])
    return programs


def test_a_run_that_was_broken_off_goes_on_where_it_was(file: Path) -> None:
    Run(file, commit="c0ffee", seed=12).remember("races", HELD)

    again = Run(file, commit="c0ffee", seed=None)

    assert (again.seed, again.held) == (12, {"races": HELD})


@pytest.mark.parametrize(
    ("commit", "seed"), [("decade", None), ("c0ffee", 13), (None, None)],
    ids=["another commit", "another seed", "changed files"],
)  # fmt: skip
def test_what_held_before_says_nothing_of(commit: str | None, seed: int | None, file: Path) -> None:
    Run(file, commit="c0ffee", seed=12).remember("races", HELD)

    assert Run(file, commit=commit, seed=seed).held == {}


def test_when_all_have_held_the_next_run_begins_anew(file: Path) -> None:
    run = Run(file, commit="c0ffee", seed=12)
    for part in PARTS:
        run.remember(part, HELD)

    assert Run(file, commit="c0ffee", seed=None).held == {}


def test_all_parts_are_run_and_told_with_what_they_tried(
    proofs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove.main(["--seed", "12"]) == 0

    told = capsys.readouterr().out
    assert "again with --seed 12" in told
    assert told.count("8 rounds") == len(PARTS)


def test_a_part_that_held_is_not_run_again(
    proofs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove.main(["races"]) == 0
    proofs["races"] = "raise SystemExit(1)"

    assert prove.main(["races", "order"]) == 0
    assert "races       held before" in capsys.readouterr().out


@pytest.mark.parametrize("broken", ["raise SystemExit(1)", "pass"], ids=["fails", "tries nothing"])
def test_a_part_that_does_not_hold_fails_the_run_and_keeps_no_other(
    broken: str, proofs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    proofs["races"] = broken

    assert prove.main(["races", "order"]) == 1

    told = capsys.readouterr().out
    assert "races       FAILED" in told
    assert "order       held" in told


def test_an_unknown_part_is_refused(proofs: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        prove.main(["rcaes"])


def test_a_proof_of_no_part_is_refused() -> None:
    mark: Any = SimpleNamespace(kwargs={"part": "rcaes"})
    item: Any = SimpleNamespace(nodeid="test_x", iter_markers=lambda _name: [mark])

    with pytest.raises(pytest.UsageError, match="test_x: name a part"):
        lengths.require_parts([item])


@pytest.mark.slow
def test_the_files_of_each_part_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEV_STATE", str(tmp_path))
    # All tests are thousands: these are of four parts.
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(PROVED))

    files = prove.files_of_parts()

    assert list(files) == list(PARTS)
    # Its mark, its module's, one of the stage's, and one of many banks.
    assert [files[part] for part in ("order", "chaos", "kills", "doors")] == [
        [one] for one in PROVED
    ]


def test_the_longest_proofs_begin_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def item(name: str, seconds: int) -> Any:
        mark = SimpleNamespace(args=(seconds,))
        return SimpleNamespace(name=name, get_closest_marker=lambda _name: mark)

    seconds = {"a": 700, "b": 900, "c": 600, "d": 2000, "e": 600, "f": 800}
    items = [item(*one) for one in seconds.items()]
    monkeypatch.setattr(lengths, "IS_FULL", True)

    lengths.longest_first(items, workers=2)

    assert [one.name for one in items] == ["d", "c", "b", "e", "f", "a"]


class Steps(RuleBasedStateMachine):
    taken = 0

    @rule()
    def take(self) -> None:
        Steps.taken += 1


def test_steps_are_drawn_again_until_enough_has_happened() -> None:
    Steps.taken = 0

    drawn = draw_until(lambda: Steps.taken <= 15, Steps, 2, Phase.generate, steps=5, draws=7)

    assert drawn == 4
    with pytest.raises(AssertionError, match="20 examples never came to the end"):
        draw_until(lambda: "the end", Steps, 2, Phase.generate, steps=5, draws=7)


def test_a_proof_that_tried_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="tried no rounds"):
        lengths.tried(0, "rounds")


def test_the_fallback_is_played_as_the_gate_plays_its_tests(tmp_path: Path) -> None:
    given = prove.environment(prove.FALLBACK, 7, tmp_path)
    others = prove.environment("races", 7, tmp_path)

    assert (given["LIBPQ_CALLS"], "PROVE" in given) == ("false", False)
    assert ("LIBPQ_CALLS" in others, others["PROVE"]) == (False, "full")
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert f"-m '{prove.QUICK}'" in options["addopts"]


def test_what_is_proved_at_the_old_bank_is_proved_there_alone() -> None:
    [kills], [doors] = (
        [word for word in prove.command(part, []) if word.startswith("proof")]
        for part in ("kills", prove.AT_OTHER_DOORS)
    )

    assert kills == "proof(part='kills') and not proof(part='doors')"
    assert doors == "proof(part='doors')"
