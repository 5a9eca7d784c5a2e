"""Migrations that would stop an installation that runs, or the last release on the new schema.

A table of a release that is out may be large and in use: none is rewritten, none is locked while
its rows are read, and nothing goes that the last release reads. `docs/released/migrations.json`
names the migrations of releases with their digests; what a later one makes is not in use yet.

    python -m devstack.migration_linter             check
    python -m devstack.migration_linter --release   write the list, at a release
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import django
from django.contrib.postgres import operations as postgres
from django.db import migrations as operations
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import CheckConstraint, ForeignKey

from core.release import SINCE
from devstack import migrations
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
NAME_IT = (
    "the last release reads it: take it away one release after the code that needs it, in a "
    "migration named …_since_MAJOR_MINOR for the oldest release that does without"
)
CONCURRENTLY = "locks the table against writes while its rows are read: use {}, atomic = False"
NOT_VALID = (
    "reads all rows under a lock: use AddConstraintNotValid, and ValidateConstraint in a migration "
    "of its own"
)
REWRITES = "rewrites the table under an exclusive lock: add a column, fill it, and change over"
# A statement of RunSQL, and what is wrong with it.
SQL: tuple[tuple[str, str], ...] = (
    (r"CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)", CONCURRENTLY.format("CREATE INDEX CONCURRENTLY")),
    (r"DROP INDEX (?!CONCURRENTLY)", CONCURRENTLY.format("DROP INDEX CONCURRENTLY")),
    (r"\bADD (CONSTRAINT|CHECK|FOREIGN KEY|UNIQUE)\b(?!.*(NOT VALID|USING INDEX))", NOT_VALID),
    (r"\bALTER (COLUMN )?(?!COLUMN )\S+ (SET DATA )?TYPE\b", REWRITES),
    (r"\bSET NOT NULL\b", NOT_VALID),
    (r"\bADD COLUMN\b(?=.*\bNOT NULL\b)(?!.*\bDEFAULT\b)", REWRITES),
    (r"\b(DROP (COLUMN|TABLE)|RENAME (COLUMN|TO))\b", NAME_IT),
    (r"^(CLUSTER|VACUUM FULL|TRUNCATE|LOCK)\b", "holds an exclusive lock for as long as it lasts"),
    (r"^(UPDATE|DELETE)\b", "locks every row that it changes: do it in chunks, by a command"),
)
TABLE = re.compile(
    r"\b(?:TABLE(?: IF EXISTS)?(?: ONLY)?|ON|UPDATE|FROM|TRUNCATE|CLUSTER|LOCK(?: TABLE)?) "
    r'"?([a-z][a-z0-9_]*)"?',
    re.IGNORECASE,
)

Name = tuple[str, str]


def main(arguments: list[str]) -> int:
    if arguments == ["--release"]:
        RELEASED.write_text(json.dumps(_digests(), indent=1, sort_keys=True) + "\n")
        return 0
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
        yield from _of_sql(_statements(operation.sql), migration, in_use)
    elif isinstance(operation, operations.RunPython):
        if in_use and migration.atomic:
            yield "holds its locks until all of it is done: set atomic = False, change in chunks"
    elif _table_of(operation, migration, state) in in_use:
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
        yield from _of_changed(old, operation.field)
    else:
        yield from _of_indexes(operation)


def _of_indexes(operation: Any) -> Iterator[str]:
    if isinstance(operation, BESIDE_WRITES):
        return
    if isinstance(operation, operations.AddIndex):
        yield CONCURRENTLY.format("AddIndexConcurrently")
    elif isinstance(operation, operations.RemoveIndex):
        yield CONCURRENTLY.format("RemoveIndexConcurrently")
    elif isinstance(operation, operations.AlterUniqueTogether | operations.AlterIndexTogether):
        yield CONCURRENTLY.format("an index of its own")
    elif isinstance(operation, operations.AddConstraint):
        is_check = isinstance(operation.constraint, CheckConstraint)
        yield NOT_VALID if is_check else CONCURRENTLY.format(UNIQUE)


def _of_new(field: Any) -> Iterator[str]:
    if not field.null and not field.has_db_default():
        yield "the last release writes no value: let it be null, or give it a db_default"
    if isinstance(field, ForeignKey) and getattr(field, "db_constraint", True):
        yield NOT_VALID
    elif field.db_index or field.unique:
        yield CONCURRENTLY.format("AddIndexConcurrently")


def _of_changed(old: Any, new: Any) -> Iterator[str]:
    before, after = old.deconstruct()[1:], new.deconstruct()[1:]
    is_longer = (new.max_length or 0) >= (old.max_length or 0)
    if before[0] != after[0] or not is_longer:
        yield REWRITES
    if old.null and not new.null:
        yield NOT_VALID
    if (new.db_index or new.unique) and not (old.db_index or old.unique):
        yield CONCURRENTLY.format("AddIndexConcurrently")


def _of_sql(statements: Iterable[str], migration: Migration, in_use: set[str]) -> Iterator[str]:
    for statement in statements:
        if not in_use.intersection(name.lower() for name in TABLE.findall(statement)):
            continue
        for pattern, fault in SQL:
            is_late = fault is NAME_IT and SINCE.search(migration.name)
            if re.search(pattern, statement, re.IGNORECASE) and not is_late:
                yield f"{statement[:60]}: {fault}"


def _statements(sql: Any) -> Iterator[str]:
    """Yield the statements of SQL, each on one line, without the bodies of functions."""
    texts = (
        [sql] if isinstance(sql, str) else [one if isinstance(one, str) else one[0] for one in sql]
    )
    for text in texts:
        plain = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", text, flags=re.DOTALL)
        plain = re.sub(r"--[^\n]*", "", plain)
        for statement in plain.split(";"):
            if one_line := " ".join(statement.split()):
                yield one_line


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


def _digests() -> dict[str, str]:
    return {".".join(name): digest for name, digest in migrations.digests(ROOT).items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
