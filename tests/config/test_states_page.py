"""docs/reference/states.md says what the tables of statuses say."""

import re
from pathlib import Path

import pytest
from django.core.management import call_command

from config.management.commands import write_states
from events import transitions
from events.transitions import StatusChange, Table
from payments.intents import states


def test_the_page_is_what_would_be_written() -> None:
    assert write_states.PATH.read_text() == write_states.page(), "run: manage.py write_states"


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_states, "PATH", tmp_path / "states.md")

    call_command("write_states", verbosity=0)

    assert (tmp_path / "states.md").read_text() == write_states.page()


@pytest.mark.parametrize("table", transitions.TABLES.values(), ids=lambda table: table.noun)
def test_every_change_and_every_status_has_its_sentence(table: Table) -> None:
    statuses = {*table.beginnings, *(change.after for change in table.changes)}

    assert all(change.cause.endswith(".") for change in table.changes)
    assert table.meanings.keys() in (set(), statuses)


def test_a_change_more_makes_another_page(monkeypatch: pytest.MonkeyPatch) -> None:
    payments, *others = transitions.TABLES.values()
    more = StatusChange("succeeded", "canceled", "payment_intent.canceled", "The moon was full.")
    changed = Table(payments.noun, payments.model, payments.beginnings, (*payments.changes, more))
    monkeypatch.setattr(transitions, "TABLES", {table.noun: table for table in (changed, *others)})

    assert "The moon was full." in write_states.page()


def test_a_table_that_nobody_introduces_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Table("moon", "intents.Attempt", ("new",), ())
    monkeypatch.setitem(transitions.TABLES, "moon", stranger)

    with pytest.raises(KeyError):
        write_states.page()


def test_the_picture_shows_changes_of_the_table() -> None:
    picture = (write_states.PATH.parents[1] / "a-payments-states.svg").read_text()
    drawn = set(re.findall(r'class="way" id="([a-z_]+)-([a-z_]+)"', picture))
    allowed = {(change.before, change.after) for change in states.PAYMENTS.changes}

    assert len(drawn) == picture.count('class="way"') == 10
    assert drawn <= allowed
