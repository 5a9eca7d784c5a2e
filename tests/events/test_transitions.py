"""The door of statuses, and the database's triggers behind it (I4)."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from events import transitions
from events.transitions import StatusChange, Table, UnlistedTransition

PAIR = re.compile(r"\('(\w+)', '(\w+)'\)")
TABLES = [*transitions.TABLES.values()]


class Row:
    """A row with a status, without a database."""

    def __init__(self, status: str) -> None:
        self.status = status


LAMP = Table("lamp", "none", ("off",), (StatusChange("off", "on", "lamp.lit", "Lit."),))


def pairs_of_trigger(table: Table) -> set[tuple[str, ...]]:
    """Return the pairs that the trigger on the model's table lets through."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_functiondef(p.oid) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE t.tgname = %s AND t.tgrelid = %s::regclass",
            [f"{table.noun}_moves_as_listed", apps.get_model(table.model)._meta.db_table],
        )
        [definition] = cursor.fetchone()
    return set(PAIR.findall(definition))


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.noun)
def test_the_database_lets_through_what_the_table_lists(table: Table) -> None:
    changes = {(before, after) for before, after in table.pairs if before != after}

    assert pairs_of_trigger(table) == changes
    assert changes


@pytest.mark.django_db
def test_a_pair_that_only_one_of_them_knows_is_noticed() -> None:
    payments = TABLES[0]
    shorter = Table(payments.noun, payments.model, payments.beginnings, payments.changes[1:])

    assert pairs_of_trigger(shorter) != shorter.pairs


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.noun)
def test_a_table_knows_the_statuses_of_its_model(table: Table) -> None:
    choices: Any = apps.get_model(table.model)._meta.get_field("status").choices

    listed = {status for pair in table.pairs for status in pair}

    assert listed == {value for value, _label in choices}
    assert set(table.beginnings) <= listed


def test_a_listed_change_is_made_and_names_its_event() -> None:
    row = Row("off")

    assert transitions.change(row, "on", table=LAMP) == "lamp.lit"
    assert row.status == "on"


@pytest.mark.parametrize("after", ["off", "broken"])
def test_an_unlisted_change_is_refused_and_changes_nothing(after: str) -> None:
    row = Row("off")

    with pytest.raises(UnlistedTransition, match=f"lamp: off → {after}"):
        transitions.change(row, after, table=LAMP)
    assert row.status == "off"
