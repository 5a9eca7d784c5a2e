"""The ledger and the events of a day as one keyed hash, chained to the day before.

Whoever owns the tables can switch triggers off and change a row; these hashes show it. A day is of
UTC and of real time, by the moment in the rows' ids. Its digest is made when all of its requests
are over, apart from payments. Each day's hashes stand in the audit log too, whose heads leave the
database (docs/operate/audit-log.md).
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import orjson
import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from audit.daily.models import DayDigest
from core import clock, ids
from core.keyring import ring
from core.keyring.needs import Retired
from core.snapshots import snapshot
from merchants import audit_log
from merchants.audit_chains import Head, Problem
from merchants.models import AuditEntry

Book = DayDigest.Book
PURPOSE = audit_log.PURPOSE
DIGESTED = "day.digested"
CHAIN = "days:"
# So long after its end a day has no request under way.
SETTLED = timedelta(hours=1)
# Days that one run digests; the next run goes on.
DAYS_OF_A_RUN = 31
PAGE = 2_000
EPOCH = date(1970, 1, 1)
DAY_MILLISECONDS = 86_400_000

# Columns by name, for one that is added later is in no digest of before. Bodies by their own hash,
# moments in microseconds.
MOVEMENT = (
    "id", "merchant_id", "kind", "type", "cause_id", "source_id", "follows_id", "charge_id",
    "currency", "amount", "surcharge", "fee", "net", "returns_fee", "available_on", "created_at",
)  # fmt: skip
ENTRY = ("id", "merchant_id", "movement_id", "account_id", "currency", "amount", "available_on")
EVENT = (
    "id", "merchant_id", "type", "aggregate_type", "aggregate_id", "sequence", "request_id", "body",
    "created_at",
)  # fmt: skip
_WRITTEN = {
    "created_at": "(extract(epoch FROM {0}.created_at) * 1000000)::bigint",
    "body": "encode(sha256({0}.body), 'hex')",
}


def _row(name: str, columns: tuple[str, ...]) -> str:
    written = (_WRITTEN.get(column, f"{{0}}.{column}").format(name) for column in columns)
    return f"jsonb_build_array({', '.join(written)})"


ROWS = {
    Book.LEDGER: f"""
SELECT movement.id, {_row("movement", MOVEMENT)}::text || coalesce((
    SELECT string_agg({_row("entry", ENTRY)}::text, '' ORDER BY entry.id)
    FROM ledger_entry AS entry WHERE entry.movement_id = movement.id
), '')
FROM ledger_movement AS movement WHERE movement.id >= %s AND movement.id < %s
ORDER BY movement.id LIMIT {PAGE}
""",  # noqa: S608
    Book.EVENTS: f"""
SELECT event.id, {_row("event", EVENT)}::text
FROM events_event AS event WHERE event.id >= %s AND event.id < %s
ORDER BY event.id LIMIT {PAGE}
""",  # noqa: S608
}
PREFIX = {Book.LEDGER: "txn", Book.EVENTS: "evt"}

log = structlog.get_logger(__name__)


class Verified(NamedTuple):
    """The result of a verification: digests, rows that were compared, and problems."""

    days: int
    rows: int
    problems: int


# --- Made, once a day -------------------------------------------------------------------------


def make_due(now: datetime | None = None) -> int:
    """Digest the days that are over; return how many. Safe to run twice, late, or at once."""
    last = _last_due(now or timezone.now())
    for made in range(DAYS_OF_A_RUN):
        day = _next_day(last)
        if day is None:
            return made
        for one in _digest(day):
            log.info(
                "audit_head",
                chain=f"{CHAIN}{one.book}", sequence=one.sequence, hash=one.hash.hex(),
            )  # fmt: skip
    return DAYS_OF_A_RUN


def _last_due(now: datetime) -> date:
    return (now - SETTLED).astimezone(UTC).date() - timedelta(days=1)


def _next_day(last: date) -> date | None:
    newest = DayDigest.objects.order_by("-day").values_list("day", flat=True).first()
    day = newest + timedelta(days=1) if newest else last
    return day if day <= last else None


@transaction.atomic(durable=True)
def _digest(day: date) -> list[DayDigest]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('audit.daily.digests'))")
    if DayDigest.objects.filter(day=day).exists():
        return []  # Another worker was sooner.
    made = [_made(book, day) for book in Book]
    after = {one.book: {"sequence": one.sequence, "hash": one.hash.hex()} for one in made}
    audit_log.record(DIGESTED, merchant=None, subject=str(day), after=after)
    return made


def _made(book: Book, day: date) -> DayDigest:
    before = DayDigest.objects.filter(book=book).order_by("-sequence").first()
    row_count, rows_hash = _hashed(book, day, is_first=before is None)
    row = DayDigest(
        book=book, day=day, sequence=before.sequence + 1 if before else 1,
        row_count=row_count, rows_hash=rows_hash, made_at=timezone.now(),
    )  # fmt: skip
    row.hash = link(row, bytes(before.hash) if before else b"")
    row.save(force_insert=True)
    return row


def link(row: DayDigest, previous: bytes) -> bytes:
    """Return the hash of a digest that follows the one with the hash `previous`."""
    return ring().mac(PURPOSE, _canonical(row, previous))


def _canonical(row: DayDigest, previous: bytes) -> bytes:
    return orjson.dumps([
        "day", row.book, str(row.day), row.sequence, row.row_count, bytes(row.rows_hash).hex(),
        row.made_at.isoformat(), previous.hex(),
    ])  # fmt: skip


def _is_right(row: DayDigest, previous: bytes) -> bool:
    """Return whether a digest follows the one before, by a key that was not retired by then."""
    maker = ring().maker_of(PURPOSE, _canonical(row, previous), bytes(row.hash))
    return maker is not None and not audit_log.is_too_late_for(maker, row.made_at)


def _hashed(book: Book, day: date, *, is_first: bool) -> tuple[int, bytes]:
    """Return the number and the hash of a day's rows.

    The ledger's first digest has all rows before it, too; events of before may be pruned at once.
    """
    digest, count = hashlib.sha256(), 0
    for text in _rows(book, day, is_first=is_first and book == Book.LEDGER):
        digest.update(f"{len(text)}:{text}".encode())
        count += 1
    return count, digest.digest()


def _rows(book: Book, day: date, *, is_first: bool) -> Iterator[str]:
    begin, end = _first_id(book, day), _first_id(book, day + timedelta(days=1))
    begin = f"{PREFIX[book]}_" if is_first else begin
    with connection.cursor() as cursor:
        while True:
            cursor.execute(ROWS[book], (begin, end))
            page = cursor.fetchall()
            yield from (text for _key, text in page)
            if len(page) < PAGE:
                return
            begin = f"{page[-1][0]}~"  # Behind it: ids have no such character.


def _first_id(book: Book, day: date) -> str:
    milliseconds = max(0, (day - EPOCH).days * DAY_MILLISECONDS)
    return f"{PREFIX[book]}_{ids.base62(milliseconds, ids.TIME_CHARACTERS)}"


def needed(key: Retired) -> Iterator[str]:
    """Yield up to when digests of days are proved by a key of the audit log."""
    made_by_then = key.retired_at + audit_log.CLOCKS_DIFFER
    if DayDigest.objects.filter(made_at__lt=made_by_then).exists():
        yield f"it proves the digests of days until {key.retired_at:%Y-%m-%d}"


# --- Verified ---------------------------------------------------------------------------------


def verify(
    *, tell: Callable[[Problem], None], show: Callable[[Head], None], older: list[Head]
) -> Verified:
    """Walk the chains of digests, and compare each with its day's rows.

    A day whose events may have been pruned is proved by the chain, as far as rows are gone.

    :param older: heads of an earlier day, which the chains must still contain.
    """
    days = rows = 0
    problems: list[Problem] = []
    with snapshot():
        told = _told_days()
        for book in Book:
            walked, compared, found = _walk(book, told)
            days, rows, problems = days + walked, rows + compared, problems + found
            if last := DayDigest.objects.filter(book=book).order_by("-sequence").first():
                show(Head(f"{CHAIN}{book}", last.sequence, bytes(last.hash)))
        problems += _lost(older)
    for problem in problems:
        tell(problem)
    return Verified(days, rows, len(problems))


def _walk(book: Book, told: dict[tuple[str, Any], Any]) -> tuple[int, int, list[Problem]]:
    chain, problems, rows = f"{CHAIN}{book}", list[Problem](), 0
    known, last, previous = 0, None, b""
    for one in DayDigest.objects.filter(book=book).order_by("sequence").iterator():
        if one.sequence != known + 1 or (last and one.day != last + timedelta(days=1)):
            problems.append(Problem(chain, known + 1, "digests of days are missing"))
        elif not _is_right(one, previous):
            problems.append(Problem(chain, one.sequence, f"the digest of {one.day} was changed"))
        if told.pop((book, one.sequence), None) != bytes(one.hash).hex():
            text = f"the audit log has another digest of {one.day}, or none"
            problems.append(Problem(chain, one.sequence, text))
        compared, said = _compared(one)
        rows += compared
        problems += [Problem(chain, one.sequence, said)] if said else []
        known, last, previous = one.sequence, one.day, bytes(one.hash)
    if last and last < _last_due(timezone.now()) - timedelta(days=1):
        problems.append(Problem(chain, known, f"no digest was made since the one of {last}"))
    gone = sorted((number for of, number in told if of == book), key=str)
    problems += [Problem(chain, n, "a digest is gone that the audit log has") for n in gone]
    return known, rows, problems


def _compared(one: DayDigest) -> tuple[int, str | None]:
    """Return the number of a day's rows, and how they differ from its digest."""
    count, rows_hash = _hashed(Book(one.book), one.day, is_first=one.sequence == 1)
    if (count, rows_hash) == (one.row_count, bytes(one.rows_hash)):
        return count, None
    if count > one.row_count:
        return count, f"rows of {one.day} were added: {count} for {one.row_count}"
    if count < one.row_count:
        if one.book == Book.EVENTS and _may_be_pruned(one.day):
            return count, None
        return count, f"rows of {one.day} are gone: {count} for {one.row_count}"
    return count, f"rows of {one.day} were changed"


def _may_be_pruned(day: date) -> bool:
    horizon = clock.now() - timedelta(days=settings.EVENT_DAYS)
    return day <= horizon.astimezone(UTC).date()


def _told_days() -> dict[tuple[str, Any], Any]:
    """Return the hashes of digests as the audit log has them, whose own chain is walked apart."""
    rows = AuditEntry.objects.filter(chain=audit_log.INSTALLATION, action=DIGESTED)
    told: dict[tuple[str, Any], Any] = {}
    for after in rows.values_list("after", flat=True).iterator():
        # A row that was changed is told of by its own chain.
        for book in Book:
            if isinstance(kept := (after or {}).get(book), dict):
                told[book, kept.get("sequence")] = kept.get("hash")
    return told


def _lost(older: list[Head]) -> Iterator[Problem]:
    for head in older:
        rows = DayDigest.objects.filter(book=head.chain.removeprefix(CHAIN), sequence=head.sequence)
        hashes: list[Any] = [bytes(one) for one in rows.values_list("hash", flat=True)]
        if hashes != [head.hash]:
            text = "the digest is gone, or is another than when the heads were taken"
            yield Problem(head.chain, head.sequence, text)
