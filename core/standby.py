"""Reads from a standby, where an installation has one (`READ_DATABASE_URL`).

Lists and exports are read there, and nothing that is decided by: a standby is behind by some
moments. One that is away, promoted, or further behind than `READ_MAX_LAG_SECONDS` is left alone,
and the primary is read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

from core.circuit import Circuit, CircuitOpen
from core.errors import DomainError
from core.once import once

ALIAS = "standby"
# All that was committed at the primary by this moment is there. A row while it is not too old: each
# living process writes every 15 seconds, so an idle primary's is not.
AS_OF = """
SELECT replayed_at FROM pg_last_xact_replay_timestamp() AS replayed_at
WHERE pg_is_in_recovery() AND replayed_at > clock_timestamp() - make_interval(secs => %s)
"""
# Between two tries of one that does not fit.
AWAY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Read(NamedTuple):
    """An answer, and how old the rows are that it was made of.

    :param as_of: the standby has all changes up to this moment; None if the primary was read.
    """

    answer: Any
    as_of: datetime | None


class Unfit(Exception):
    """The standby is away, promoted, or too far behind."""


class _Refused(Exception):
    """The standby's rows made the work refuse, such as a cursor that it lacks."""


def read(work: Callable[[], Any]) -> Read:
    """Do work that only reads, on the standby if there is one that fits.

    The work is done a second time, on the primary, if the standby fails, or refuses by what it
    lacks. Within a transaction the primary is read: its other statements are of there.

    :param work: leaves no rows to be fetched behind it.
    """
    if ALIAS in connections.settings and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        try:
            found: Read = _circuit().call(partial(_read_there, work))
        except (CircuitOpen, Unfit, _Refused):
            pass
        else:
            return found
    return Read(work(), None)


def most_seconds_behind() -> int | None:
    """Return how old an answer of the standby may be; None without a standby."""
    return settings.READ_MAX_LAG_SECONDS if ALIAS in connections.settings else None


@once
def _circuit() -> Circuit:
    return Circuit(ALIAS, failure=Unfit, times=1, seconds=AWAY_SECONDS)


def _read_there(work: Callable[[], Any]) -> Read:
    try:
        with _in_the_place_of_the_primary():
            as_of = _as_of()
            return Read(work(), as_of)
    except DatabaseError as problem:
        raise Unfit(type(problem).__name__) from problem
    except DomainError as refusal:
        raise _Refused from refusal


def _as_of() -> datetime:
    with connections[ALIAS].cursor() as cursor:
        cursor.execute(AS_OF, [settings.READ_MAX_LAG_SECONDS])
        found = cursor.fetchone()
    if found is None:
        raise Unfit("promoted, or too far behind")
    as_of: datetime = found[0]
    return as_of


@contextmanager
def _in_the_place_of_the_primary() -> Iterator[None]:
    """Let all statements of this thread go to the standby, which takes no change."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
