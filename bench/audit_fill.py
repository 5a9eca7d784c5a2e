"""Filling the audit log with rows of many chains, as its writer would have made them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db import connection

from bench import (
    installation,  # noqa: F401
)
from merchants import audit_log
from merchants.models import AuditEntry

CHAINS = 200
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = ("merchants_auditentry", "merchants_audithead")
COLUMNS = [str(field.column) for field in AuditEntry._meta.concrete_fields]
BEFORE = {"url": "https://acme.example/hooks", "enabled_events": ["*"]}
AFTER = {"url": "https://acme.example/2", "enabled_events": ["refund.*", "payment_intent.*"]}

Heads = dict[str, tuple[int, bytes]]


def fill(count: int) -> None:
    """Write so many rows, in turns to the chains; past the triggers and the merchants' rows.

    Called again, it goes on with the chains that are there.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT chain, sequence, hash FROM merchants_audithead")
        heads: Heads = {
            chain: (sequence, bytes(hashed)) for chain, sequence, hashed in cursor.fetchall()
        }
        first = sum(sequence for sequence, _hashed in heads.values())
        cursor.execute("SET session_replication_role = replica")
        with cursor.copy(f"COPY {TABLES[0]} ({', '.join(COLUMNS)}) FROM STDIN") as copy:
            for row in _rows(range(first, first + count), heads):
                copy.write_row(row)
        cursor.execute(f"DELETE FROM {TABLES[1]}")  # noqa: S608
        with cursor.copy(f"COPY {TABLES[1]} (chain, sequence, hash) FROM STDIN") as copy:
            for chain, head in heads.items():
                copy.write_row((chain, *head))
        cursor.execute("RESET session_replication_role")
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")


def _rows(numbers: range, heads: Heads) -> Iterator[list[Any]]:
    for number in numbers:
        merchant_id = f"mer_{number % CHAINS:024}"
        chain = f"merchant:{merchant_id}"
        sequence, previous = heads.get(chain, (0, b""))
        entry = _entry(number, merchant_id, chain=chain, sequence=sequence + 1)
        entry.hash = audit_log.link(audit_log.values_of(entry), previous)
        heads[chain] = (entry.sequence, entry.hash)
        yield [_written(getattr(entry, name)) for name in COLUMNS]


def _entry(number: int, merchant_id: str, *, chain: str, sequence: int) -> AuditEntry:
    return AuditEntry(
        id=f"aud_{number:024}",
        chain=chain,
        sequence=sequence,
        merchant_id=merchant_id,
        action="endpoint.updated",
        subject=f"we_{number:024}",
        before=BEFORE,
        after=AFTER,
        actor="api_key",
        actor_id=f"key_{number:024}",
        actor_name="First key",
        address="192.0.2.1",
        request_id=f"req_{number:024}",
        created_at=BEGAN + timedelta(seconds=number),
    )


def _written(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict) else value
