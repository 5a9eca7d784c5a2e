"""Rows of daily runs: begun, ended, and forgotten when they are old.

Each change is committed by itself: the work in between may be killed at any place.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import BinaryIO

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from acquirers.models import Terminal
from audit.daily.models import DailyRun
from audit.reconciliation import reading
from audit.reconciliation.reading import Reading
from core import clock, local_days

Job, Status = DailyRun.Job, DailyRun.Status
# By the bank's clock: its day is over then, and its notices have come.
AT = time(3)
# Beyond this a run that has not ended was killed, and another one takes its place (real time).
LONGEST = timedelta(hours=2)
# A failed run is tried again after this (real time).
AGAIN_AFTER = timedelta(minutes=30)
# Days in which a failed run is looked for where none ever ended well.
LOOKED_BACK = 31
CHUNK = 5000
# Counted by a run that has read the file of one terminal alone, next to the terminal's id.
TERMINALS = "terminals"
# Counted by an audit with a shorter window than the daily one's: it asked about fewer attempts.
SHORTER = "shorter"


class DayToCome(Exception):
    """A person named a day of the bank's that has not begun."""


@dataclass(slots=True)
class Result:
    """The result of one run.

    :param counts: what it looked at and moved, by name.
    :param findings: the number of things that a person has to look into.
    :param left_out: days whose files it did not read, or not whole. Its row has the first one and
        the last one; a person's has those that it skipped, where no files come by themselves.
    """

    counts: dict[str, int] = field(default_factory=dict)
    findings: int = 0
    day: date | None = None
    left_out: list[date] = field(default_factory=list)


def day_due(*, late: timedelta = timedelta(0)) -> date:
    """Return the newest day of the bank's whose daily runs are due.

    :param late: by how much they may be late.
    """
    now, zone = clock.now() - late, settings.BANK_TIMEZONE
    today = local_days.of(now, zone)
    return today - timedelta(days=1 if now >= local_days.at(today, AT, zone) else 2)


def begin(job: DailyRun.Job, day: date) -> DailyRun | None:
    """Begin a day's run; None if it is done, under way, or has failed a moment ago.

    One that has not ended for two hours was killed: its row says so from now on.
    """
    with transaction.atomic(durable=True):
        tries = list(_tries(job, day).select_for_update().order_by("number"))
        now = timezone.now()
        if tries and not _may_begin_again(tries[-1], now):
            return None
        _note_killed(tries, now)
        run = DailyRun(job=job, day=day, number=len(tries) + 1, begun_at=now)
        # ON CONFLICT DO NOTHING: another worker may have begun it since anybody looked.
        DailyRun.objects.bulk_create([run], ignore_conflicts=True)
    return _tries(job, day).filter(number=run.number, begun_at=now).first()


def begin_by_hand(job: DailyRun.Job) -> DailyRun:
    """Begin a run of the newest due day in the name of a person; it takes no try of beat's."""
    return DailyRun.objects.create(job=job, day=day_due(), begun_at=timezone.now())


@contextmanager
def recorded(run: DailyRun) -> Iterator[Result]:
    """Write down how a run ends: the block fills the result, or fails."""
    result = Result()
    try:
        yield result
    except Exception as error:
        _end(run, Status.FAILED, failure=type(error).__name__)
        raise
    facts = {"counts": result.counts, "findings": result.findings, "day": result.day or run.day}
    if result.left_out:
        facts |= {"left_out_from": min(result.left_out), "left_out_until": max(result.left_out)}
    _end(run, Status.DONE, **facts)


def reconciled(
    file: BinaryIO, *, days: Sequence[date] = (), terminal: Terminal | None = None
) -> Reading:
    """Read a bank's file in the name of a person, as a run of its own.

    The run is of the newest day that the file speaks for and that is over: the file of another one
    is not whole. Without such a day it makes up for no run.

    :param days: days of the bank's for which the file speaks even if it has no line of them.
    :param terminal: the one whose bookings alone the file has; it makes up for days left out by
        its own files alone.
    :raises DayToCome: one of `days` has not begun; nothing was done.
    :raises NotSpoken: nothing here reads the files of the terminal's kind.
    :raises NotASettlementFile: the first line does not name the columns.
    :raises OfNoDay: the file has no line, and `days` is empty.
    :raises BeingRead: another reading is under way.
    """
    today = local_days.of(clock.now(), settings.BANK_TIMEZONE)
    if days and max(days) > today:
        raise DayToCome(max(days))
    run = begin_by_hand(Job.RECONCILE)
    with recorded(run) as result:
        made = reading.read(file, days=days, terminal=terminal)
        add(result, made)
        if terminal:
            result.counts |= {TERMINALS: 1, terminal.id: 1}
        over = [day for day in made.days if day < today]
        result.day = over[-1] if over else run.day - timedelta(days=1)
        # A daily run that reads the whole bank's file meets the terminal's lines, too.
        if made.unread and not (terminal and settings.SETTLEMENT_FILES):
            result.left_out += _unbroken(over)
        if not (terminal or settings.SETTLEMENT_FILES):
            result.left_out += _skipped(made.days, until=result.day)
    if not made.unread:
        _narrow_left_out(made.days, terminal)
    return made


def _unbroken(days: Sequence[date]) -> list[date]:
    """Return the days up to the last one without a gap; a line of an older day came late."""
    return [day for at, day in enumerate(days, 1) if (days[-1] - day).days == len(days) - at]


def _skipped(read: Sequence[date], *, until: date) -> list[date]:
    """Return the days since the last reading of the whole bank's file that are not read yet."""
    whole = DailyRun.objects.filter(job=Job.RECONCILE, status=Status.DONE)
    last = whole.exclude(counts__has_key=TERMINALS).order_by("-day").first()
    span = (until - last.day).days if last else 0
    days = [until - timedelta(days=count) for count in range(span)]
    return [day for day in days if day not in read]


def conclusive() -> QuerySet[DailyRun]:
    """Return the runs without the audits of a shorter window that found nothing."""
    return DailyRun.objects.exclude(findings=0, counts__has_key=SHORTER)


def left_out() -> QuerySet[DailyRun]:
    """Return the runs with days whose files no person has read whole since, the oldest first."""
    return DailyRun.objects.filter(left_out_from__isnull=False).order_by("left_out_from", "pk")


@transaction.atomic(durable=True)
def _narrow_left_out(read: Sequence[date], terminal: Terminal | None) -> None:
    """Take days that were read off both ends of what runs have left out.

    :param terminal: the one whose bookings alone were read: runs of its own files left them out.
    """
    rows = left_out().filter(counts__has_key=terminal.id) if terminal else left_out()
    for run in rows.select_for_update():
        assert run.left_out_from is not None  # By `left_out`.
        assert run.left_out_until is not None  # a_daily_run_left_out_days_in_order
        span = (run.left_out_until - run.left_out_from).days + 1
        days = [run.left_out_from + timedelta(days=count) for count in range(span)]
        left = [day for day in days if day not in read]
        run.left_out_from, run.left_out_until = (left[0], left[-1]) if left else (None, None)
        run.save(update_fields=["left_out_from", "left_out_until"])


def add(result: Result, made: Reading) -> None:
    """Add a reading to the result of its run."""
    for name in ("lines", "unread", "opened", "closed"):
        result.counts[name] = result.counts.get(name, 0) + getattr(made, name)
    result.findings = result.counts["unread"] + reading.open_differences()


def last_of_beat(job: DailyRun.Job) -> DailyRun | None:
    """Return the newest run that ended well and that no person began: it left out no day."""
    rows = DailyRun.objects.filter(job=job, status=Status.DONE, number__isnull=False)
    return rows.order_by("-day").first()


def forget_old() -> int:
    """Delete runs past their days (`DAILY_RUN_DAYS`, movable clock); return their number."""
    before = clock.now().date() - timedelta(days=settings.DAILY_RUN_DAYS)
    oldest = DailyRun.objects.filter(day__lt=before).order_by("pk")[:CHUNK]
    forgotten, _by_model = DailyRun.objects.filter(
        pk__in=list(oldest.values_list("pk", flat=True))
    ).delete()
    return forgotten


def was_killed(run: DailyRun, now: datetime) -> bool:
    """Return whether a run has not ended for so long that its process must be gone."""
    return run.status == Status.RUNNING and run.begun_at <= now - LONGEST


def _tries(job: DailyRun.Job, day: date) -> QuerySet[DailyRun]:
    return DailyRun.objects.filter(job=job, day=day, number__isnull=False)


def _may_begin_again(last: DailyRun, now: datetime) -> bool:
    if last.status == Status.FAILED:
        return last.begun_at <= now - AGAIN_AFTER
    return last.status == Status.KILLED or was_killed(last, now)


def _note_killed(tries: list[DailyRun], now: datetime) -> None:
    running = [run.pk for run in tries if run.status == Status.RUNNING]
    DailyRun.objects.filter(pk__in=running).update(status=Status.KILLED, ended_at=now)


def _end(run: DailyRun, status: DailyRun.Status, **facts: object) -> None:
    # One whose place was taken stays killed.
    rows = DailyRun.objects.filter(pk=run.pk, status=Status.RUNNING)
    rows.update(status=status, ended_at=timezone.now(), **facts)
