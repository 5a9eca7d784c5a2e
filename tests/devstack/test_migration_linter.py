"""Planted migrations of the next release: each that locks, rewrites or takes away is found."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    ValidateConstraint,
)
from django.contrib.postgres.operations import AddIndexConcurrently as AddIndexOnce
from django.db import models
from django.db.migrations import Migration
from django.db.migrations import operations as on
from django.db.migrations.loader import MigrationLoader

from core.postgresql.indexes import AddIndexConcurrently
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
    "each row its own": (
        on.AddField("event", "x", models.UUIDField(db_default=RandomUUID())), "rewrites the table",
    ),
    "computed": (
        on.AddField("event", "x", models.GeneratedField(
            expression=models.F("sequence"), output_field=models.IntegerField(), db_persist=True)),
        "rewrites the table",
    ),
    "precision": (
        on.AlterField("event", "sequence", models.DecimalField(max_digits=9, decimal_places=1)),
        "rewrites the table",
    ),
    "order of letters": (
        on.AlterField("event", "type", models.CharField(max_length=200, db_collation="und-x-icu")),
        "rewrites the table",
    ),
    "no constraint": (
        on.RemoveConstraint("event", "one_event_per_object_and_sequence"),
        "the last release reads it",
    ),
    "index in a transaction": (AddIndexConcurrently("event", INDEX), "set atomic = False"),
    "sql index in a transaction": (
        on.RunSQL(f"CREATE INDEX CONCURRENTLY x ON {TABLE} (type)"), "set atomic = False",
    ),
    "sql rewritten by a default": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD COLUMN x uuid DEFAULT gen_random_uuid()"), "rewrites",
    ),
    "sql computed": (
        on.RunSQL(
            f"ALTER TABLE {TABLE} ADD COLUMN x int GENERATED ALWAYS AS (sequence + 1) STORED"
        ),
        "rewrites",
    ),
    "sql unlogged": (on.RunSQL(f"ALTER TABLE {TABLE} SET UNLOGGED"), "rewrites"),
    "sql reindex": (on.RunSQL(f"REINDEX TABLE {TABLE}"), "REINDEX … CONCURRENTLY"),
    "sql truncate": (on.RunSQL(f"TRUNCATE TABLE {TABLE}"), "exclusive lock"),
    "sql vacuum": (on.RunSQL(f"VACUUM FULL {TABLE}"), "exclusive lock"),
    "sql with a schema": (
        on.RunSQL('ALTER TABLE "public"."events_event" DROP COLUMN type'), "the last release reads",
    ),
    "sql in a with": (
        on.RunSQL("WITH a AS (SELECT 1) DELETE FROM events_event"), "locks every row",
    ),
    "sql no default": (
        on.RunSQL(f"ALTER TABLE {TABLE} ALTER COLUMN type DROP DEFAULT"), "the last release reads",
    ),
    "sql drop without COLUMN": (
        on.RunSQL(f"ALTER TABLE {TABLE} DROP type"), "the last release reads it",
    ),
    "sql rename without COLUMN": (
        on.RunSQL(f"ALTER TABLE {TABLE} RENAME type TO kind"), "the last release reads it",
    ),
    "sql add without COLUMN": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD x uuid DEFAULT gen_random_uuid()"), "rewrites",
    ),
    "sql key of a table": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (type)"), "reads all rows",
    ),
    "sql unique in a column": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD COLUMN x int UNIQUE"), "reads all rows",
    ),
    "sql check in a column": (
        on.RunSQL(f"ALTER TABLE {TABLE} ADD COLUMN x int CHECK (x > 0)"), "reads all rows",
    ),
    "sql function": (on.RunSQL("DROP FUNCTION prune_events"), "the last release reads it"),
    "sql program": (
        on.RunSQL("DO $$ BEGIN UPDATE events_event SET type = ''; END $$"), "is not read",
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
    "sql column": on.RunSQL(f"ALTER TABLE {TABLE} ADD x int, ADD COLUMN y text DEFAULT ''"),
    "sql no constraint": on.RunSQL(f"ALTER TABLE {TABLE} DROP CONSTRAINT planted"),
    "sql may be null": on.RunSQL(f"ALTER TABLE {TABLE} ALTER type DROP NOT NULL"),
    "sql key": on.RunSQL(f"ALTER TABLE {TABLE} ADD CONSTRAINT x CHECK (sequence > 0) NOT VALID"),
    "sql function": on.RunSQL(
        "CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE events_event SET type = ''; END $$"
    ),
}


def faults_of(
    *planted: Any, name: str = "0003_planted", is_released: bool = True, is_atomic: bool = True
) -> list[str]:
    """Return what is found if a migration of `events` has these operations, after a release."""
    loader: Any = MigrationLoader(None)
    released = set(loader.graph.nodes) if is_released else set()
    migration = Migration(name, "events")
    migration.operations, migration.atomic = list(planted), is_atomic
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
    assert faults_of(BORNE[kind], is_atomic="index" not in kind) == []


@pytest.mark.parametrize(
    "planted", ["drop", "drop a table", "sql drop", "no constraint", "sql function"]
)
def test_what_is_taken_away_later_says_since_when(planted: str) -> None:
    operation, _fault = FOUND[planted]

    assert faults_of(operation, name="0003_contract_since_0_1") == []


def test_an_index_can_be_made_again_after_it_broke_off() -> None:
    [found] = faults_of(AddIndexOnce("event", INDEX), is_atomic=False)

    assert "import it from core.postgresql.indexes" in found


def test_a_check_is_validated_in_a_migration_of_its_own() -> None:
    planted = (AddConstraintNotValid("event", CHECK), ValidateConstraint("event", "planted"))

    assert len(faults_of(*planted)) == 1  # The lock of the first lasts through the second.
    assert faults_of(*planted, is_atomic=False) == []


def test_a_default_that_the_last_release_relies_on_stays() -> None:
    added = on.AddField("event", "x", models.IntegerField(db_default=1))

    found = faults_of(added, on.AlterField("event", "x", models.IntegerField()))

    assert [one for one in found if "keep the db_default" in one]


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
