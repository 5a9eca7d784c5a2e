"""docs/states.md says what payments/intents/states.py says."""

from pathlib import Path

import pytest
from django.core.management import call_command

from payments.intents import states
from payments.intents.management.commands import write_states
from payments.intents.states import TRANSITIONS, AttemptStatus, Status


def test_the_page_is_what_would_be_written() -> None:
    assert write_states.PATH.read_text() == write_states.page(), "run: manage.py write_states"


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_states, "PATH", tmp_path / "states.md")

    call_command("write_states", verbosity=0)

    assert (tmp_path / "states.md").read_text() == write_states.page()


def test_every_change_and_every_status_has_its_sentence() -> None:
    told = {(before, after) for before, causes in write_states.CAUSES.items() for after in causes}

    assert told == TRANSITIONS.keys()
    assert write_states.ATTEMPTS.keys() == set(AttemptStatus)


@pytest.mark.parametrize("change", [states.TABLE[:-1], states.TABLE[::-1]])
def test_another_table_makes_another_page(change: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_states, "TABLE", change)

    assert write_states.page() != write_states.PATH.read_text()


def test_a_change_that_nobody_explains_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    unexplained = (Status.SUCCEEDED, Status.CANCELED, states.CANCELED)
    monkeypatch.setattr(write_states, "TABLE", (*states.TABLE, unexplained))

    with pytest.raises(KeyError):
        write_states.page()
