"""The gate leaves out what it says, and nothing at full length or of what has changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from devstack.state import ROOT
from tests.stage import left_out
from tests.stage.both_banks import OLD

FILE = "tests/webhooks/test_order.py"


class Item(SimpleNamespace):
    """A test, as far as it is asked here."""

    __hash__ = object.__hash__


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the files that have changed since main: none, until a test adds one."""
    files: set[str] = set()
    monkeypatch.setattr(left_out, "changed_files", lambda: files)
    return files


def kept(*marks: tuple[str, ...], asked: str = FILE, door: str | None = None) -> list[int]:
    """Return the places of the tests that stay, of one file's tests with such marks."""
    config: Any = SimpleNamespace(args=[asked])
    config.hook = SimpleNamespace(pytest_deselected=lambda items: None)
    items: Any = [
        Item(
            number=number, nodeid=f"{FILE}::test_{number}", path=ROOT / FILE, config=config,
            callspec=SimpleNamespace(params={"door": door}),
            get_closest_marker=lambda name, own=own: name if name in own else None,
        )
        for number, own in enumerate(marks)
    ]  # fmt: skip
    left_out.leave_out(config, items)
    return [item.number for item in items]


FAULTS = [("proof",), ("proof", "planted"), ("proof", "planted"), ("proof", "only_full")]


def test_one_planted_fault_of_a_file_stays_and_no_proof_that_has_a_twin(changed: set[str]) -> None:
    assert kept(*FAULTS) == [0, 1]


@pytest.mark.parametrize("file", [FILE, "tests/stage/webhook_machine.py"])
def test_all_faults_stay_if_the_proof_or_its_stage_has_changed(
    file: str, changed: set[str]
) -> None:
    changed.add(file)

    assert kept(*FAULTS) == [0, 1, 2]


def test_without_git_all_faults_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "changed_files", lambda: None)

    assert kept(*FAULTS) == [0, 1, 2]


def test_one_of_a_file_stays_at_each_other_door(changed: set[str]) -> None:
    assert kept(*[("both_banks",)] * 4, door=OLD) == [0]
    assert kept(*[("both_banks",)] * 4, door="nestpay") == [0]
    assert kept(*[("both_banks",)] * 4, door="garanti") == [3]
    assert kept(*[("both_banks",)] * 4, door="sandbox") == [0, 1, 2, 3]


@pytest.mark.parametrize("door", [OLD, "nestpay", "garanti"])
def test_none_that_is_planted_is_the_one_at_a_door(door: str, changed: set[str]) -> None:
    planted, check = ("both_banks", "proof", "planted"), ("both_banks", "proof")

    assert kept(planted, check, planted, door=door) == [1]
    changed.add(FILE)
    assert kept(planted, check, planted, door=door) == [1]


def test_one_that_the_gate_plays_at_each_door_stays_with_the_others_one(changed: set[str]) -> None:
    marks = [("both_banks",), ("both_banks", "gate_at_doors"), ("both_banks",)]

    assert kept(*marks, door=OLD) == [0, 1]
    assert kept(*marks, door="garanti") == [1, 2]


def test_a_test_that_is_named_by_its_id_stays(changed: set[str]) -> None:
    assert kept(*FAULTS, asked=f"{FILE}::test_3") == [0, 1, 3]


def test_at_full_length_all_stay(changed: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "IS_FULL", True)

    assert kept(*FAULTS) == [0, 1, 2, 3]


def test_a_test_that_nobody_would_play_is_refused(changed: set[str]) -> None:
    with pytest.raises(AssertionError, match="no proof would play"):
        kept(("only_full",))
