"""Migrations that would stop an installation that runs, or the last release on the new schema.

A table of a release that is out may be large and in use: none is rewritten, none is locked while
its rows are read, and nothing goes that the last release reads. `docs/released/migrations.json`
names the migrations of releases with their digests (`devstack.release` writes it); what a later one
makes is not in use yet.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import django
from django.contrib.postgres import operations as postgres
from django.contrib.postgres.functions import RandomUUID
from django.db import connection
from django.db import migrations as operations
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import CheckConstraint, ForeignKey, GeneratedField, UniqueConstraint
from django.db.models.functions import Random

from core.release import SINCE
from devstack import migration_sql, migrations
from devstack.migration_sql import ATOMIC, CONCURRENTLY, NAME_IT, NOT_VALID, REWRITES
from devstack.state import ROOT

RELEASED = ROOT / "docs" / "released" / "migrations.json"
TAKES_AWAY = (operations.RemoveField, operations.DeleteModel)
RENAMES = (operations.RenameField, operations.RenameModel, operations.AlterModelTable)
# They lock a table for a moment, or not at all.
BESIDE_WRITES = (
    postgres.AddIndexConcurrently,
    postgres.RemoveIndexConcurrently,
    postgres.AddConstraintNotValid,
    postgres.ValidateConstraint,
)
UNIQUE = "CREATE UNIQUE INDEX CONCURRENTLY, then ADD CONSTRAINT … USING INDEX"
CONCURRENT = (postgres.AddIndexConcurrently, postgres.RemoveIndexConcurrently)
AGAIN = "cannot be repeated after it broke off: import it from core.postgresql.indexes"
# Each row gets its own value, so each is written.
VOLATILE = (Random, RandomUUID)

Name = tuple[str, str]


def main() -> int:
    django.setup()
    released, loader = _released(), MigrationLoader(None)
    found = [*changed(released), *faults(loader, set(released))]
    for fault in found:
        print(fault)
    count = sum(len(one.operations) for one in _ours(loader).values())
    print(
        f"{count} operations of {len(_ours(loader))} migrations read, {len(released)} of them are "
        f"released, {len(found)} faults"
    )
    return 1 if found or not count else 0


def changed(released: dict[Name, str]) -> Iterator[str]:
    """Yield a sentence for each released migration whose file has changed or is gone."""
    here = migrations.digests(ROOT)
    for name, digest in released.items():
        if here.get(name) != digest:
            yield f"{'.'.join(name)}: it is released: add a migration, and leave this one alone"


def faults(loader: Any, released: set[Name]) -> Iterator[str]:
    """Yield a sentence for each operation that a running installation would not bear.

    :param loader: of the migrations; a test gives one with planted migrations.
    :param released: those whose tables may be in use.
    """
    state, in_use = ProjectState(), set[str]()
    ours = _ours(loader)
    for key in _in_order(loader):
        migration = loader.graph.nodes[key]
        for operation in migration.operations:
            if key in ours and key not in released:
                for fault in _of(operation, migration, state, in_use):
                    yield f"{'.'.join(key)}: {operation.describe()}: {fault}"
            before = _tables(state)
            operation.state_forwards(key[0], state)
            if key in released or (released and key not in ours):
                in_use |= _tables(state) - before


def _of(
    operation: Operation, migration: Migration, state: ProjectState, in_use: set[str]
) -> Iterator[str]:
    """Yield what is wrong with one operation on tables in use."""
    if isinstance(operation, operations.SeparateDatabaseAndState):
        for inner in operation.database_operations:
            yield from _of(inner, migration, state, in_use)
    elif isinstance(operation, operations.RunSQL):
        yield from migration_sql.faults(operation.sql, migration, in_use)
    elif isinstance(operation, operations.RunPython):
        if in_use and migration.atomic:
            yield "holds its locks until all of it is done: set atomic = False, change in chunks"
    elif _table_of(operation, migration, state) in in_use:
        if isinstance(operation, CONCURRENT) and migration.atomic:
            yield ATOMIC
        yield from _of_model(operation, migration, state)


def _of_model(operation: Any, migration: Migration, state: ProjectState) -> Iterator[str]:
    if isinstance(operation, TAKES_AWAY):
        if not SINCE.search(migration.name):
            yield NAME_IT
    elif isinstance(operation, RENAMES):
        yield "the last release uses the old name: add the new one, and take the old one away later"
    elif isinstance(operation, operations.AddField):
        yield from _of_new(operation.field)
    elif isinstance(operation, operations.AlterField):
        old = state.models[migration.app_label, operation.model_name_lower].fields[operation.name]
        yield from _of_changed(old, operation.field, migration)
    elif isinstance(operation, postgres.ValidateConstraint):
        if _is_added_here(operation.name, migration):
            yield NOT_VALID
    elif isinstance(operation, operations.RemoveConstraint):
        model = state.models[migration.app_label, operation.model_name_lower]
        constraint = model.get_constraint_by_name(operation.name)
        # A statement with ON CONFLICT needs the one that it names.
        if isinstance(constraint, UniqueConstraint) and not SINCE.search(migration.name):
            yield NAME_IT
    else:
        yield from _of_indexes(operation)


def _is_added_here(constraint: str, migration: Migration) -> bool:
    added = (postgres.AddConstraintNotValid, operations.AddConstraint)
    return migration.atomic and any(
        isinstance(one, added) and one.constraint.name == constraint for one in migration.operations
    )


def _of_indexes(operation: Any) -> Iterator[str]:
    if type(operation) is postgres.AddIndexConcurrently:
        yield AGAIN
    elif isinstance(operation, BESIDE_WRITES):
        return
    elif isinstance(operation, operations.AddIndex):
        yield CONCURRENTLY.format("AddIndexConcurrently")
    elif isinstance(operation, operations.RemoveIndex):
        yield CONCURRENTLY.format("RemoveIndexConcurrently")
    elif isinstance(operation, operations.AlterUniqueTogether | operations.AlterIndexTogether):
        yield CONCURRENTLY.format("an index of its own")
    elif isinstance(operation, operations.AddConstraint):
        is_check = isinstance(operation.constraint, CheckConstraint)
        yield NOT_VALID if is_check else CONCURRENTLY.format(UNIQUE)


def _of_new(field: Any) -> Iterator[str]:
    if isinstance(field, GeneratedField) or isinstance(field.db_default, VOLATILE):
        yield REWRITES
        return
    if not field.null and not field.has_db_default():
        yield "the last release writes no value: let it be null, or give it a db_default"
    if isinstance(field, ForeignKey) and getattr(field, "db_constraint", True):
        yield NOT_VALID
    elif field.db_index or field.unique:
        yield CONCURRENTLY.format("AddIndexConcurrently")


def _of_changed(old: Any, new: Any, migration: Migration) -> Iterator[str]:
    if _kind(old) != _kind(new) or not _is_as_long(old, new):
        yield REWRITES
    if old.null and not new.null:
        yield NOT_VALID
    if old.has_db_default() and not new.has_db_default() and not new.null:
        yield "the last release writes no value: keep the db_default"
    if _is_constrained(new) and not _is_constrained(old):
        yield NOT_VALID
    is_new, was = (one.db_index or one.unique for one in (new, old))
    if is_new and not was:
        yield CONCURRENTLY.format("AddIndexConcurrently")
    if old.unique and not new.unique and not SINCE.search(migration.name):
        yield NAME_IT
    elif was and not is_new:
        yield CONCURRENTLY.format("RemoveIndexConcurrently")


def _kind(field: Any) -> tuple[str, str | None]:
    """Return a column's type without its length, and its collation."""
    parameters = field.db_parameters(connection)
    name = str(parameters["type"])
    is_text = name.startswith("varchar")
    return name.partition("(")[0] if is_text else name, parameters.get("collation")


def _is_as_long(old: Any, new: Any) -> bool:
    if new.max_length is None:
        return True
    return old.max_length is not None and bool(new.max_length >= old.max_length)


def _is_constrained(field: Any) -> bool:
    return isinstance(field, ForeignKey) and bool(getattr(field, "db_constraint", True))


def _table_of(operation: Any, migration: Migration, state: ProjectState) -> str:
    name = getattr(operation, "model_name", None) or getattr(operation, "old_name", None)
    name = name or getattr(operation, "name", "")
    model = state.models.get((migration.app_label, str(name).lower()))
    return _table(model) if model else ""


def _table(model: Any) -> str:
    return str(model.options.get("db_table") or f"{model.app_label}_{model.name_lower}")


def _tables(state: ProjectState) -> set[str]:
    return {_table(model) for model in state.models.values()}


def _in_order(loader: Any) -> Iterator[Name]:
    seen: set[Name] = set()
    for leaf in sorted(loader.graph.leaf_nodes()):
        for key in loader.graph.forwards_plan(leaf):
            if key not in seen:
                seen.add(key)
                yield key


def _ours(loader: Any) -> dict[Name, Migration]:
    """Return the migrations that lie in this repository."""
    here = set(migrations.digests(ROOT)) | getattr(loader, "planted", set())
    return {key: one for key, one in loader.graph.nodes.items() if key in here}


def _released() -> dict[Name, str]:
    if not RELEASED.exists():
        return {}
    kept: dict[str, str] = json.loads(RELEASED.read_text())
    return {
        (app, name): digest for key, digest in kept.items() for app, _, name in [key.partition(".")]
    }


if __name__ == "__main__":
    sys.exit(main())
