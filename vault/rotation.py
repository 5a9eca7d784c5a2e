"""Bringing everything that is sealed under the primary key, while the service runs.

Each batch is a transaction of its own and nothing is kept between them, so that a run
may die anywhere and the next one goes on; two at once share the work.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from psycopg import sql

from core.keyring import KeyRing, SealBroken, UnknownKey
from vault import peers
from vault.sealed_rows import SealedColumn

BATCH = 500
# Rows that others hold are skipped, and met again in the next pass.
MAX_PASSES = 20
PAUSE_SECONDS = 0.5

REPLACE = sql.SQL("""
    UPDATE {table} AS kept SET {changes}
    FROM unnest(%s::{pk_type}[], %s::bytea[]) AS fresh (pk, sealed) WHERE kept.{pk} = fresh.pk
""")


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a rotation: rows that were sealed again, and rows that could not be.

    :param broken: the reason why each does not open, by primary key.
    """

    rewrapped: int
    broken: dict[Any, str]


def count_left(column: SealedColumn, ring: KeyRing) -> int:
    """Return how many rows are not under the primary key, those that do not open included."""
    return sum(rows.count() for rows in column.rows_under_others(ring.primary))


def rewrap(column: SealedColumn, ring: KeyRing) -> Iterator[Batch]:
    """Rewrap the column's rows, batch by batch, until a pass finds only broken ones.

    It gives up after some passes: then rows stay locked; `count_left` counts them.

    :raises KeyRingError: a living process seals with another key by now.
    """
    for _ in range(MAX_PASSES):
        rewrapped, broken = 0, 0
        for batch in _one_pass(column, ring):
            rewrapped, broken = rewrapped + batch.rewrapped, broken + len(batch.broken)
            yield batch
        if not rewrapped:
            if count_left(column, ring) <= broken:
                return
            time.sleep(PAUSE_SECONDS)


def _one_pass(column: SealedColumn, ring: KeyRing) -> Iterator[Batch]:
    for rows in column.rows_under_others(ring.primary):
        last = None
        while True:
            batch, last = _rewrap_some(column, ring, rows, after=last)
            if last is None:
                break
            yield batch


@transaction.atomic(durable=True)
def _rewrap_some(
    column: SealedColumn, ring: KeyRing, rows: QuerySet[Any], *, after: Any
) -> tuple[Batch, Any]:
    """Rewrap one batch and return it with its last primary key, None if there was no row.

    Locked without the key, so that a payment that refers to a card does not wait.

    A rotation may stand still for days (Ctrl-Z) and its key be purged meanwhile. So each
    transaction looks first: one that stands still after its look is ended by the database
    (`idle_in_transaction_session_timeout`) before its process counts as gone.
    """
    peers.require_sealing_with(ring.primary)
    page = rows if after is None else rows.filter(pk__gt=after)
    locked = list(page.order_by("pk").select_for_update(skip_locked=True, no_key=True)[:BATCH])
    fresh, broken = {}, {}
    for row in locked:
        try:
            sealed = bytes(getattr(row, column.field.attname))
            fresh[row.pk] = ring.rewrap(sealed, context=row.seal_context)
        except (SealBroken, UnknownKey) as error:
            broken[row.pk] = str(error)
    if fresh:
        _replace(column, ring.primary, fresh)
    return Batch(len(fresh), broken), locked[-1].pk if locked else None


def _replace(column: SealedColumn, primary: str, fresh: dict[Any, bytes]) -> None:
    field, meta = column.field, column.field.model._meta
    assert meta.pk is not None
    changes = [sql.SQL("{} = fresh.sealed").format(_name(field))]
    if field.key_id_field:
        named = meta.get_field(field.key_id_field)
        changes.append(sql.SQL("{} = {}").format(_name(named), sql.Literal(primary)))
    query = REPLACE.format(
        table=sql.Identifier(meta.db_table),
        changes=sql.SQL(", ").join(changes),
        pk=_name(meta.pk),
        pk_type=sql.SQL(str(meta.pk.db_type(connection))),
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [list(fresh), list(fresh.values())])


def _name(field: Any) -> sql.Identifier:
    return sql.Identifier(field.column)
