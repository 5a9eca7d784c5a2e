"""Verifying the audit log: every chain is walked, and compared with its head and with older heads.

Rows are read through a cursor on one snapshot, so that memory stays flat and writers are not
disturbed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any, NamedTuple

import orjson
import structlog
from django.db import connection

from core.snapshots import snapshot
from merchants import audit_log

PAGE = 2_000

# PostgreSQL writes a row as one JSON text: reading eighteen columns takes longer than hashing them.
# A moment without end is one that nobody wrote here; as a number it would end the walk.
_MOMENT = "nullif(nullif(created_at, 'infinity'), '-infinity')"
_AS_HASHED = {name: name for name in audit_log.HASHED} | {
    "created_at": f"(extract(epoch FROM {_MOMENT}) * 1000000)::bigint AS created_at"
}
_VALUES = ", ".join(_AS_HASHED.values())
# All rows are read: PostgreSQL is to choose the way on which the last of them comes soonest, by the
# unique index or by sorting. A page of its own for each 2,000 rows took it twice the time.
READ_TO_THE_END = "SET LOCAL cursor_tuple_fraction = 1"
ENTRIES = f"""
DECLARE audit_entries NO SCROLL CURSOR FOR
SELECT entry.chain, entry.sequence, stored.hash, row_to_json(entry)::text
FROM merchants_auditentry AS stored, LATERAL (SELECT {_VALUES}) AS entry
ORDER BY stored.chain, stored.sequence
"""  # noqa: S608
HEADS = """
SELECT chain, sequence, hash FROM merchants_audithead
WHERE chain > %s ORDER BY chain LIMIT %s
"""
# The rows that older heads name.
NAMED = """
SELECT chain, sequence, hash FROM merchants_auditentry
WHERE (chain, sequence) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))
"""

log = structlog.get_logger(__name__)


class Head(NamedTuple):
    """The last row of a chain at some moment."""

    chain: str
    sequence: int
    hash: bytes

    def as_json(self) -> str:
        """Return the line by which a head is printed, and read again by `read_heads`."""
        return json.dumps({"chain": self.chain, "sequence": self.sequence, "hash": self.hash.hex()})


class Problem(NamedTuple):
    """A trace of tampering, at one row of a chain or at its head."""

    chain: str
    sequence: int
    text: str

    def __str__(self) -> str:
        return f"{self.chain} #{self.sequence}: {self.text}"


class Row(NamedTuple):
    """A row of a chain.

    :param values: all columns but the hash, as JSON.
    """

    chain: str
    sequence: int
    hash: bytes
    values: str


class Walked(NamedTuple):
    """The result of a verification."""

    rows: int
    chains: int
    compared: int
    problems: int


def verify(
    *,
    tell: Callable[[Problem], None],
    show: Callable[[Head], None] = lambda _head: None,
    older: Iterable[Head] = (),
) -> Walked:
    """Walk every chain.

    :param tell: called with each problem.
    :param show: called with the head of each chain.
    :param older: heads of an earlier day, which the chains must still contain.
    """
    rows = chains = compared = problems = 0
    with snapshot():
        for chain, head, links in _chains():
            chains += 1
            walk = _Walk(chain)
            for row in links:
                rows += 1
                walk.go_on(row)
            walk.end(head)
            problems += len(walk.problems)
            for problem in walk.problems:
                tell(problem)
            if head:
                show(head)
        for known in _pages_of(older):
            compared += len(known)
            for problem in _lost(known):
                problems += 1
                tell(problem)
    return Walked(rows, chains, compared, problems)


def log_heads() -> int:
    """Write a log line for the head of each chain and return how many there are.

    A chain does not show that its newest rows are gone; a head that lies outside of the database
    does.
    """
    count = 0
    for head in _heads():
        count += 1
        # Not `hash`: the line is read by people, who may not know of what.
        log.info("audit_head", chain=head.chain, sequence=head.sequence, hash=head.hash.hex())
    return count


def read_heads(lines: Iterable[str]) -> Iterator[Head]:
    """Return the heads in lines of JSON: of this command's output, or of the service's log.

    Lines about anything else are passed over.
    """
    for line in lines:
        try:
            known = json.loads(line)
            yield Head(known["chain"], int(known["sequence"]), bytes.fromhex(known["hash"]))
        except (ValueError, TypeError, KeyError):
            continue


class _Walk:
    """One chain, row after row."""

    def __init__(self, chain: str) -> None:
        self.chain = chain
        self.problems: list[Problem] = []
        self.last = 0
        # None: the row before is missing, so it cannot be told whether this one follows it.
        self.previous: bytes | None = b""
        self.latest = audit_log.EPOCH

    def go_on(self, row: Row) -> None:
        if row.sequence <= self.last:
            self._note(row.sequence, "the row is there twice")
            return
        if row.sequence > self.last + 1:
            self._note(self.last + 1, _missing(self.last + 1, row.sequence - 1))
            self.previous = None
        if self.previous is not None:
            self._compare(row, self.previous)
        self.last, self.previous = row.sequence, row.hash

    def _compare(self, row: Row, previous: bytes) -> None:
        values = _values_of(row)
        maker = values and audit_log.maker_of(values, previous, row.hash)
        if not values or not maker:
            self._note(row.sequence, "the row was changed or moved, or does not follow the last")
            return
        # Never earlier than a row before: with a key that leaked, rows could be added to the end.
        self.latest = max(self.latest, audit_log.moment_of(values))
        if audit_log.is_too_late_for(maker, self.latest):
            self._note(row.sequence, f"the row was made with {maker}, which was retired by then")

    def end(self, head: Head | None) -> None:
        if head is None:
            self._note(self.last, "the chain has no head: it was renamed, or its head was deleted")
        elif head.sequence > self.last:
            self._note(self.last + 1, _missing(self.last + 1, head.sequence))
        elif head.sequence < self.last:
            self._note(head.sequence, f"the head was turned back from #{self.last}")
        elif head.hash != self.previous:
            self._note(head.sequence, "the head is not the hash of the last row")

    def _note(self, sequence: int, text: str) -> None:
        self.problems.append(Problem(self.chain, sequence, text))


def _values_of(row: Row) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = orjson.loads(row.values)
    except ValueError:
        return None  # A number that PostgreSQL keeps and we never write.
    return values


def _missing(first: int, last: int) -> str:
    return "the row is missing" if first == last else f"the rows up to #{last} are missing"


def _lost(known: list[Head]) -> Iterator[Problem]:
    with connection.cursor() as cursor:
        cursor.execute(NAMED, [[one.chain for one in known], [one.sequence for one in known]])
        found = {(chain, sequence): bytes(hashed) for chain, sequence, hashed in cursor.fetchall()}
    for head in known:
        hashed = found.get((head.chain, head.sequence))
        if hashed is None:
            text = "the row is gone that was the last one when the heads were taken"
            yield Problem(head.chain, head.sequence, text)
        elif hashed != head.hash:
            text = "the row is another than when the heads were taken"
            yield Problem(head.chain, head.sequence, text)


# --- Reading, in the order of chains ----------------------------------------------------------


def _chains() -> Iterator[tuple[str, Head | None, Iterator[Row]]]:
    """Yield each chain with its head and rows; one of both may be missing."""
    heads = _heads()
    head = next(heads, None)
    for chain, rows in groupby(_entries(), key=lambda row: row.chain):
        while head and head.chain < chain:
            yield head.chain, head, iter(())
            head = next(heads, None)
        if head and head.chain == chain:
            yield chain, head, rows
            head = next(heads, None)
        else:
            yield chain, None, rows
    while head:
        yield head.chain, head, iter(())
        head = next(heads, None)


def _entries() -> Iterator[Row]:
    with connection.cursor() as cursor:
        cursor.execute(READ_TO_THE_END)
        cursor.execute(ENTRIES)
    while page := _fetched(f"FETCH {PAGE} FROM audit_entries"):
        yield from map(Row._make, page)
    with connection.cursor() as cursor:
        cursor.execute("CLOSE audit_entries")


def _heads() -> Iterator[Head]:
    chain = ""
    while page := _fetched(HEADS, (chain, PAGE)):
        for chain, sequence, hashed in page:
            yield Head(chain, sequence, bytes(hashed))


def _fetched(statement: str, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, place)
        return cursor.fetchall()


def _pages_of(heads: Iterable[Head]) -> Iterator[list[Head]]:
    coming = iter(heads)
    while page := list(islice(coming, PAGE)):
        yield page
