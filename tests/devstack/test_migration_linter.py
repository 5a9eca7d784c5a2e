"""Planted migrations of the next release: each that locks, rewrites or takes away is found."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    ValidateConstraint,
)
from django.db import models
from django.db.migrations import Migration
from django.db.migrations import operations as on
from django.db.migrations.loader import MigrationLoader

from devstack import migration_linter

TABLE = "events_event"
MERCHANT = models.ForeignKey("merchants.Merchant", models.PROTECT, null=True)
CHECK = models.CheckConstraint(condition=models.Q(sequence__gte=1), name="planted")
INDEX = models.Index(fields=["type"], name="planted")
UNIQUE = models.UniqueConstraint(fields=["type"], name="planted")
LONG = models.CharField(max_length=200)
FOUND = {
    "drop": (on.RemoveField("event", "type"), "the last release reads it"),
    "drop a table": (on.DeleteModel("Counter"), "the last release reads it"),
    "rename": (on.RenameField("event", "type", "kind"), "uses the old name"),
    "rename a table": (on.RenameModel("Event", "Fact"), "uses the old name"),
    "no value": (on.AddField("event", "x", models.IntegerField(default=1)), "writes no value"),
    "type": (on.AlterField("event", "sequence", models.BigIntegerField()), "rewrites the table"),
    "shorter": (
        on.AlterField("event", "type", models.CharField(max_length=9)), "rewrites the table",
    ),
    "index": (on.AddIndex("event", INDEX), "AddIndexConcurrently"),
    "no index": (on.RemoveIndex("event", "events_by_type"), "RemoveIndexConcurrently"),
    "check": (on.AddConstraint("event", CHECK), "AddConstraintNotValid"),
    "unique": (on.AddConstraint("event", UNIQUE), "USING INDEX"),
    "reference": (
        on.AddField("event", "m", MERCHANT),
        "reads all rows under a lock",
    ),
    "code": (on.RunPython(on.RunPython.noop), "set atomic = False"),
    "sql index": (on.RunSQL(f"CREATE INDEX x ON {TABLE} (type)"), "CREATE INDEX CONCURRENTLY"),
    "sql type": (on.RunSQL(f"ALTER TABLE {TABLE} ALTER COLUMN type TYPE text"), "rewrites"),
    "sql drop": (on.RunSQL(f"ALTER TABLE {TABLE} DROP COLUMN type"), "the last release reads it"),
    "sql not null": (
        on.RunSQL(f"ALTER TABLE {TABLE} ALTER COLUMN type SET NOT NULL"), "reads all rows",
    ),
    "sql update": (on.RunSQL("UPDATE events_event SET type = 'x'"), "locks every row"),
    "sql key": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD CONSTRAINT x CHECK (sequence > 0)"), "reads all rows",
    ),
    "two statements": (
        on.RunSQL(f"-- a word\nSELECT 1; CREATE UNIQUE INDEX x ON {TABLE} (id);"), "CONCURRENTLY",
    ),
}  # fmt: skip
BORNE = {
    "null": on.AddField("event", "x", models.IntegerField(null=True)),
    "default": on.AddField("event", "x", models.IntegerField(db_default=1)),
    "longer": on.AlterField("event", "type", LONG),
    "index": AddIndexConcurrently("event", INDEX),
    "check": AddConstraintNotValid("event", CHECK),
    "new table": on.CreateModel("New", [("id", models.IntegerField(primary_key=True))]),
    "sql index": on.RunSQL(f"CREATE INDEX CONCURRENTLY x ON {TABLE} (type)"),
    "sql key": on.RunSQL(f"ALTER TABLE {TABLE} ADD CONSTRAINT x CHECK (sequence > 0) NOT VALID"),
    "sql function": on.RunSQL(
        "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE events_event SET type = ''; END $$"
    ),
}


def faults_of(*planted: Any, name: str = "0003_planted", is_released: bool = True) -> list[str]:
    """Return what is found if a migration of `events` has these operations, after a release."""
    loader: Any = MigrationLoader(None)
    released = set(loader.graph.nodes) if is_released else set()
    migration = Migration(name, "events")
    migration.operations = list(planted)
    migration.dependencies = [max(key for key in loader.graph.nodes if key[0] == "events")]
    loader.graph.add_node(("events", name), migration)
    for parent in migration.dependencies:
        loader.graph.add_dependency(migration, ("events", name), parent)
    loader.planted = {("events", name)}
    return list(migration_linter.faults(loader, released))


@pytest.mark.parametrize("kind", FOUND)
def test_a_migration_that_a_running_installation_does_not_bear_is_found(kind: str) -> None:
    planted, fault = FOUND[kind]

    found = faults_of(planted)

    assert len(found) == 1, found
    assert found[0].startswith("events.0003_planted: ")
    assert fault in found[0]


@pytest.mark.parametrize("kind", BORNE)
def test_a_migration_that_expands_passes(kind: str) -> None:
    assert faults_of(BORNE[kind]) == []


@pytest.mark.parametrize("planted", ["drop", "drop a table", "sql drop"])
def test_what_is_taken_away_later_says_since_when(planted: str) -> None:
    operation, _fault = FOUND[planted]

    assert faults_of(operation, name="0003_contract_since_0_1") == []


def test_a_check_is_validated_in_a_migration_of_its_own() -> None:
    assert (
        faults_of(AddConstraintNotValid("event", CHECK), ValidateConstraint("event", "planted"))
        == []
    )


def test_what_no_release_has_may_be_changed_in_any_way() -> None:
    assert faults_of(FOUND["drop"][0], is_released=False) == []


def test_a_released_migration_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    digests: Callable[..., Any] = migration_linter.migrations.digests
    released = digests(migration_linter.ROOT)
    assert list(migration_linter.changed(released)) == []
    changed = next(iter(released))

    found = list(migration_linter.changed({**released, changed: "another"}))

    assert found == [
        f"{'.'.join(changed)}: it is released: add a migration, and leave this one alone"
    ]
