"""The keys of the service's tables: from the models, and from the database's own catalog."""

from collections.abc import Iterator
from typing import NamedTuple

from django.apps import apps
from django.db import connection, router
from django.db.models import Field, Model

from tests.stage.database_role import as_owner

MERCHANT = "merchant_id"

# A partition has the columns and keys of its table.
TABLES = """
SELECT relname, EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = pg_class.oid AND attname = 'merchant_id' AND attnotnull AND NOT attisdropped)
FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
"""

COLUMNS = """
(SELECT array_agg(attname::text ORDER BY place)
 FROM unnest({numbers}) WITH ORDINALITY AS listed (number, place)
 JOIN pg_attribute ON attrelid = {table} AND attnum = number)
"""

REFERENCES = f"""
SELECT conname, child.relname, {COLUMNS.format(numbers="conkey", table="conrelid")},
    parent.relname, {COLUMNS.format(numbers="confkey", table="confrelid")}
FROM pg_constraint
JOIN pg_class AS child ON child.oid = conrelid AND NOT child.relispartition
JOIN pg_class AS parent ON parent.oid = confrelid
WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'public'::regnamespace
"""  # noqa: S608

# Columns that an index only includes are behind those of its key. An expression has no name.
UNIQUE_KEYS = f"""
SELECT named.relname, owner.relname, coalesce({
    COLUMNS.format(numbers="(indkey::int2[])[0:indnkeyatts - 1]", table="indrelid")
}, '{{}}')
FROM pg_index
JOIN pg_class AS named ON named.oid = indexrelid
JOIN pg_class AS owner ON owner.oid = indrelid AND NOT owner.relispartition
WHERE indisunique AND owner.relnamespace = 'public'::regnamespace
"""  # noqa: S608


class Reference(NamedTuple):
    """A foreign key of the database."""

    name: str
    table: str
    columns: list[str]
    parent: str
    parent_columns: list[str]

    @property
    def is_within_a_merchant(self) -> bool:
        return (MERCHANT, MERCHANT) in zip(self.columns, self.parent_columns, strict=True)


class UniqueKey(NamedTuple):
    name: str
    table: str
    columns: list[str]


class Keys(NamedTuple):
    """All tables and keys, as the catalog has them now."""

    tables: set[str]
    merchants_tables: set[str]
    references: list[Reference]
    unique_keys: list[UniqueKey]

    def loose_references(self) -> set[str]:
        """Return the foreign keys between two merchants' tables that leave the merchant out."""
        both = [one for one in self.references if {one.table, one.parent} <= self.merchants_tables]
        return {one.name for one in both if not one.is_within_a_merchant}

    def loose_unique_keys(self) -> set[str]:
        """Return the unique keys of merchants' tables that leave the merchant out."""
        ours = [one for one in self.unique_keys if one.table in self.merchants_tables]
        return {one.name for one in ours if MERCHANT not in one.columns}

    def unguarded_columns(self) -> set[str]:
        """Return the columns of foreign keys of the models that the database does not guard."""
        guarded = {(one.table, column) for one in self.references for column in one.columns}
        columns = model_references() | {(table, MERCHANT) for table in self.merchants_tables}
        return {f"{table}.{column}" for table, column in columns - guarded}


def in_catalog() -> Keys:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = dict(cursor.fetchall())
        cursor.execute(REFERENCES)
        references = [Reference(*row) for row in cursor.fetchall()]
        cursor.execute(UNIQUE_KEYS)
        unique_keys = [UniqueKey(*row) for row in cursor.fetchall()]
    merchants_tables = {table for table, is_merchants in tables.items() if is_merchants}
    return Keys(set(tables), merchants_tables, references, unique_keys)


def models() -> list[type[Model]]:
    """Return the models whose rows are in the service's database, not in the bank's."""
    everything = apps.get_models(include_auto_created=True)
    return [model for model in everything if router.db_for_read(model) == "default"]


def has_merchant(model: type[Model]) -> bool:
    return MERCHANT in {field.attname for field in model._meta.concrete_fields if not field.null}


def model_references() -> set[tuple[str, str]]:
    """Return table and column of each model's foreign key to another of a merchant's models."""
    return {
        (model._meta.db_table, field.column)
        for model in filter(has_merchant, models())
        for field in _foreign_keys(model)
        if has_merchant(field.related_model)
    }


def _foreign_keys(model: type[Model]) -> Iterator[Field]:
    return (field for field in model._meta.concrete_fields if field.is_relation)


def point(reference: Reference, *, owner: str, target: str) -> None:
    """Point the first row of a merchant's to the first of the target's, and check as a commit does.

    Past the triggers that freeze rows: foreign keys are what is tried.
    """
    columns, parents = (
        ", ".join(name for name in names if name != MERCHANT)
        for names in (reference.columns, reference.parent_columns)
    )
    table, parent = reference.table, reference.parent
    with as_owner() as cursor:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(
            f"UPDATE {table} SET ({columns}) ="  # noqa: S608
            f" (SELECT {parents} FROM {parent} WHERE merchant_id = %s ORDER BY {parents} LIMIT 1)"
            f" WHERE ctid = (SELECT ctid FROM {table} WHERE merchant_id = %s"
            f" ORDER BY {columns} LIMIT 1)",
            [target, owner],
        )
        assert cursor.rowcount == 1, f"the scene has no row of {table}"
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
