"""Reading a bank's file: all of it in one transaction, so that nothing is half done.

The same file read again, and files whose days overlap, open nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import BinaryIO

from django.conf import settings
from django.db import connection, transaction

from audit.reconciliation import comparing, differences, lines, staging
from audit.reconciliation.models import Difference

# Further unreadable lines are counted, and not named.
NAMED = 100
# Any number, the same in every process: one reading at a time.
LOCK = "SELECT pg_try_advisory_xact_lock(7233746)"


class BeingRead(Exception):
    """Another reading is under way."""


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
def read(file: BinaryIO, *, days: Sequence[date] = ()) -> Reading:
    """Compare a file with our books, and open and close the cases of what differs.

    A file speaks for each day that it has a line of, and for `days`: a booking of ours on such a
    day without a line is missing there. Lines that cannot be read are left out; with any of them
    the file is not whole, and what it lacks closes nothing.

    :raises lines.NotASettlementFile: the first line does not name the columns; nothing was done.
    :raises BeingRead: another reading is under way; nothing was done.
    """
    _be_alone()
    reading = Reading()
    staging.prepare()
    staging.copy(lines.read(file, refused=reading.refuse), settings.BANK_MERCHANTS)
    for number in staging.drop_foreign():
        reading.refuse(number, "merchant: none of this installation")
    staging.split_twice()
    reading.lines = staging.count()
    reading.days = sorted({*staging.days(), *days})
    _compare(reading)
    return reading


def open_differences() -> int:
    """Return the number of the open cases of reconciliation."""
    return Difference.objects.filter(closed_at=None).count()


def _be_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute(LOCK)
        [is_ours] = cursor.fetchone()
    if not is_ours:
        raise BeingRead


def _compare(reading: Reading) -> None:
    covered = [] if reading.unread else reading.days
    staging.add_kept(covered)
    comparing.compare(reading.days)
    reading.opened = differences.open_found()
    reading.closed = differences.close_agreed(covered)
    differences.keep_lines(covered)
