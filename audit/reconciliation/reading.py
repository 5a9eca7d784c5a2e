"""Reading a bank's file: all of it in one transaction, so that nothing is half done.

The same file read again, and files whose days overlap, open nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import BinaryIO

from django.conf import settings
from django.db import connection, transaction

import acquirers
from acquirers import settlement
from acquirers.models import Terminal
from acquirers.settlement import Reader
from audit.reconciliation import comparing, differences, lines, staging
from audit.reconciliation.models import Difference

# Further unreadable lines are counted, and not named.
NAMED = 100
# Any number, the same in every process: one reading at a time.
LOCK = "SELECT pg_try_advisory_xact_lock(7233746)"


class BeingRead(Exception):
    """Another reading is under way."""


class OfNoDay(Exception):
    """The file has no line, and no day was named for which it speaks."""


class NotSpoken(Exception):
    """The kind of the terminal has no reader of settlement files."""


@dataclass(slots=True)
class Reading:
    """The result of one reading.

    :param days: the booking days that the file speaks for.
    :param lines: the number of lines that were compared, without those of earlier files.
    :param unreadable: number and reason of lines that were not compared; the first ones alone.
    """

    days: list[date] = field(default_factory=list)
    lines: int = 0
    opened: int = 0
    closed: int = 0
    unread: int = 0
    unreadable: list[tuple[int, str]] = field(default_factory=list)

    def refuse(self, number: int, reason: str) -> None:
        """Note a line that is not compared."""
        self.unread += 1
        if len(self.unreadable) < NAMED:
            self.unreadable.append((number, reason))


@transaction.atomic(durable=True)
def read(file: BinaryIO, *, days: Sequence[date] = (), terminal: Terminal | None = None) -> Reading:
    """Compare a file with our books, and open and close the cases of what differs.

    A file speaks for each day that it has a line of, and for `days`: a booking of ours on such a
    day without a line is missing there. Lines that cannot be read are left out; with any of them
    the file is not whole, and what it lacks closes nothing.

    :param terminal: the one whose bookings alone the file has, read by the reader of its kind; None
        for all bookings of the installation, in the common columns.
    :raises NotSpoken: nothing here reads the files of that kind; nothing was done.
    :raises NotASettlementFile: the first line does not name the columns; nothing was done.
    :raises OfNoDay: the file has no line, and `days` is empty; nothing was done.
    :raises BeingRead: another reading is under way; nothing was done.
    """
    _be_alone()
    reading = Reading()
    staging.prepare()
    rows = _reader_of(terminal)(file, refused=reading.refuse)
    checked = lines.checked(rows, refused=reading.refuse, of_terminal=terminal is not None)
    staging.copy(checked, settings.BANK_MERCHANTS, terminal)
    for number in staging.drop_foreign():
        reading.refuse(number, "merchant: none of this installation")
    staging.split_twice()
    reading.lines = staging.count()
    reading.days = sorted({*staging.days(), *days})
    if not reading.days and not reading.unread:
        raise OfNoDay
    _compare(reading, terminal)
    return reading


def _reader_of(terminal: Terminal | None) -> Reader:
    reader = acquirers.settlement_of(terminal) if terminal else settlement.read
    if reader is None:
        raise NotSpoken
    return reader


def open_differences() -> int:
    """Return the number of the open cases of reconciliation."""
    return Difference.objects.filter(closed_at=None).count()


def _be_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute(LOCK)
        [is_ours] = cursor.fetchone()
    if not is_ours:
        raise BeingRead


def _compare(reading: Reading, terminal: Terminal | None) -> None:
    covered = [] if reading.unread else reading.days
    staging.add_kept(covered, terminal)
    staging.name_refunds()
    comparing.compare(reading.days, terminal)
    reading.opened = differences.open_found()
    reading.closed = differences.close_agreed(covered, terminal)
    differences.keep_lines(covered, terminal)
