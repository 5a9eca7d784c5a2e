"""Daily runs that did not happen, failed, were killed, or found something."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from audit.daily import runs
from audit.daily.models import DailyRun
from audit.reconciliation import reading
from core import keyring
from core.keyring import dates, steps
from core.keyring.file import content_of
from vault import ring_steps

Job, Status = DailyRun.Job, DailyRun.Status
# So late the runs of a day may be done.
GRACE = timedelta(hours=1)

Newest = dict[tuple[DailyRun.Job, DailyRun.Status], DailyRun]


class Trouble(NamedTuple):
    """A job whose newest run, or whose left out days, a person has to look into.

    :param day: the last day that the run is about.
    :param begun_at: of the run, in real time; None if it did not happen.
    """

    job: DailyRun.Job
    day: date
    told: str
    begun_at: datetime | None


def sentences() -> list[str]:
    """Return a sentence for each thing that a person has to look into; none if all is well."""
    said = [f"{one.job}: {one.told}" for one in troubles()]
    if count := reading.open_differences():
        said.append(f"reconcile: {count} cases are open")
    return [*said, *keys_due()]


def keys_due() -> list[str]:
    """Return a sentence for each key that is used or kept for too long, and each step without row.

    A key ring that does not load is a finding of its own.
    """
    try:
        content = content_of(settings.KEYRING_FILE)
    except keyring.KeyRingError as error:
        return [str(error)]
    unnoted = ring_steps.missing(steps.of(content))
    return [*dates.due(content), *map(ring_steps.in_words, unnoted)]


def troubles() -> list[Trouble]:
    """Return what is wrong with the newest run of each job, and the days that were left out."""
    newest = _newest()
    # A file that was read again with the same lines is told once.
    left_out = {_left_out(run): run for run in runs.left_out()}
    return [
        *(one for job in Job for one in _of(job, newest)),
        *(Trouble(Job.RECONCILE, run.day, told, run.begun_at) for told, run in left_out.items()),
    ]


def _left_out(run: DailyRun) -> str:
    begin, end, unread = run.left_out_from, run.left_out_until, run.counts.get("unread")
    if unread:
        days = f"of {end}" if begin == end else f"from {begin} to {end}"
        return f"{unread} lines {days} could not be read"
    return f"the files from {begin} to {end} were not read"


def _newest() -> Newest:
    """Return the newest run of each job by how it ended."""
    rows = runs.conclusive().order_by("job", "status", "-day", "-id").distinct("job", "status")
    if settings.SETTLEMENT_FILES:
        # A terminal's file that a person has read makes up for no run of the whole bank's.
        rows = rows.exclude(counts__has_key=runs.TERMINALS)
    return {(Job(row.job), Status(row.status)): row for row in rows}


def _of(job: DailyRun.Job, newest: Newest) -> Iterator[Trouble]:
    day = runs.day_due(late=GRACE)
    done = newest.get((job, Status.DONE))
    if done is None or done.day < day:
        last = _last_try(job, newest, done)
        told = f"the run of {day} {_how_it_ended(last)}"
        yield Trouble(job, day, told, last.begun_at if last else None)
    # The cases of reconciliation are told as they are now.
    elif done.findings and job != Job.RECONCILE:
        told = f"{done.findings} findings in the run of {done.day}"
        yield Trouble(job, done.day, told, done.begun_at)


def _last_try(job: DailyRun.Job, newest: Newest, done: DailyRun | None) -> DailyRun | None:
    since = done.day if done else runs.day_due() - timedelta(days=runs.LOOKED_BACK)
    tries = [
        row for (of, status), row in newest.items()
        if of == job and status != Status.DONE and row.day > since
    ]  # fmt: skip
    return max(tries, key=lambda row: (row.day, row.pk), default=None)


def _how_it_ended(last: DailyRun | None) -> str:
    if last is None:
        return "did not happen"
    if last.status == Status.KILLED or runs.was_killed(last, timezone.now()):
        return f"was begun at {last.begun_at:%Y-%m-%d %H:%M} UTC and killed"
    if last.status == Status.RUNNING:
        return f"is under way since {last.begun_at:%Y-%m-%d %H:%M} UTC"
    return f"failed ({last.failure})"
