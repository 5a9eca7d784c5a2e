"""The sweeper: asks banks about the rows of every kind that are due, and applies the answers."""

import contextvars
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

import structlog
from django.db import DatabaseError, transaction

from acquirers.conversation import leases, schedule, settling
from acquirers.conversation.kinds import KINDS, Kind
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Outcome
from api import request_logs
from core import clock, context, prepared

# A run takes up no further rows after this time; the next one goes on.
SWEEP_SECONDS = 20
# While a kind waits for a silent bank, another's rows become due: so often a run looks for them.
LOOK_AGAIN_SECONDS = 1.0

log = structlog.get_logger(__name__)


def sweep(*, job: str) -> int:
    """Ask about every row that is due, each kind within its own slots; return how many were asked.

    Sweepers and requests may run at the same time: leases keep them apart.

    :param job: the name of this work in the request logs.
    """
    kinds = list(KINDS.values())
    with ThreadPoolExecutor(sum(kind.slots for kind in kinds)) as pool:
        return _Run(kinds, pool, job).to_its_end()


class _Run:
    def __init__(self, kinds: list[Kind[Any]], pool: ThreadPoolExecutor, job: str) -> None:
        self._kinds, self._pool, self._job = kinds, pool, job
        self._asking: dict[Future[Outcome], tuple[Kind[Any], InDoubt]] = {}
        self._found = 0
        self._enough = context.remaining_seconds() - SWEEP_SECONDS
        # The kinds with rows at a bank when the time was over; None before.
        self._held_up: set[Kind[Any]] | None = None

    def to_its_end(self) -> int:
        while self._take_up() or self._asking:
            answered, _ = wait(self._asking, LOOK_AGAIN_SECONDS, return_when=FIRST_COMPLETED)
            for asking in answered:
                kind, row = self._asking.pop(asking)
                self._resolve(kind, row, asking)
        return self._found

    def _take_up(self) -> int:
        """Begin to ask about rows that are due, as far as slots are free; return how many."""
        taken = 0
        busy = Counter(kind for kind, _row in self._asking.values())
        for kind in _with_due_rows(self._open_kinds(busy)):
            due = _found(kind, kind.slots - busy[kind])
            taken += len(due)
            for row in due:
                self._ask(kind, row)
        self._found += taken
        return taken

    def _open_kinds(self, busy: Counter[Kind[Any]]) -> list[Kind[Any]]:
        """Return the kinds of which rows are taken up: all, until the time is over.

        After that a run only waits for its last answers. A silent bank may take long over them,
        so rows of the other kinds, which nothing holds up, are taken up meanwhile.
        """
        if context.remaining_seconds() > self._enough:
            return self._kinds
        if self._held_up is None:
            self._held_up = set(busy)
        if not self._held_up & busy.keys():
            return []
        return [kind for kind in self._kinds if kind not in self._held_up]

    def _ask(self, kind: Kind[Any], row: InDoubt) -> None:
        ready: InDoubt | None = None
        with _alone(row, "row_not_begun"):
            ready = kind.begun(row)
        if ready:
            asking = self._pool.submit(contextvars.copy_context().run, kind.ask, ready)
            self._asking[asking] = kind, ready

    def _resolve(self, kind: Kind[Any], row: InDoubt, asking: Future[Outcome]) -> None:
        with _alone(row, "row_not_resolved"), request_logs.job(self._job):
            settling.settle(kind, row, asking.result())


@contextmanager
def _alone(row: InDoubt, failure: str) -> Iterator[None]:
    """Let an error about one row stop none of the others: log it, and give the row's lease back."""
    try:
        yield
    except DatabaseError:
        # The row is locked, or the database is away: the next inquiry resolves it.
        log.warning(failure, row=str(row), exc_info=True)
        leases.give_back(row)
    except Exception:  # A bug of ours: logged as an error; the others still get their turn.
        log.exception(failure, row=str(row))
        leases.give_back(row)


def _with_due_rows(sought: list[Kind[Any]]) -> list[Kind[Any]]:
    """Return the kinds of which rows are due; none while the database is away."""
    try:
        found = models_with_due_rows(kind.model for kind in sought)
    except DatabaseError:
        log.warning("rows_not_looked_for", exc_info=True)
        return []
    return [kind for kind in sought if kind.model in found]


def models_with_due_rows(models: Iterable[type[InDoubt]]) -> set[type[InDoubt]]:
    """Return those of which a row is due, leased or not; no row is locked or read for it.

    :raises DatabaseError: the database is away.
    """
    asked = tuple(models)
    if not asked:
        return set()
    return {asked[at] for (at,) in prepared.rows(_look(asked), {"now": clock.now()})}


@cache
def _look(models: tuple[type[InDoubt], ...]) -> str:
    return " UNION ALL ".join(
        f'SELECT {at} WHERE EXISTS (SELECT FROM "{model._meta.db_table}"'  # noqa: S608
        " WHERE due_at <= %(now)s::timestamptz)"
        for at, model in enumerate(models)
    )


def _found(kind: Kind[Any], count: int) -> list[InDoubt]:
    """Lease rows that are due; none while the database is away, for others await their answers."""
    try:
        return _lease_due(kind, count)
    except DatabaseError:
        log.warning("rows_not_leased", kind=type(kind).__name__, exc_info=True)
        return []


@transaction.atomic(durable=True)
def _lease_due(kind: Kind[Any], count: int) -> list[InDoubt]:
    if count <= 0:
        return []
    now = clock.now()
    due = leases.free(kind.model).filter(due_at__lte=now).order_by("due_at")
    rows = list(due.select_for_update(of=("self",), skip_locked=True)[:count])
    for row in rows:
        schedule.count_inquiry(row, now)
        leases.begin(row)
    kind.model._default_manager.bulk_update(rows, ["inquiry_count", "due_at", "lease_until"])
    return rows
