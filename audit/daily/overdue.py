"""Daily runs that did not happen, failed, were killed, or found something."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from audit.daily import runs
from audit.daily.models import DailyRun
from audit.reconciliation import reading
from core import keyring
from core.keyring import dates
from core.keyring.file import content_of

Job, Status = DailyRun.Job, DailyRun.Status
# So late the runs of a day may be done.
GRACE = timedelta(hours=1)


def sentences() -> list[str]:
    """Return a sentence for each thing that a person has to look into; none if all is well."""
    said = [sentence for job in Job for sentence in _of(job)]
    if count := reading.open_differences():
        said.append(f"reconcile: {count} cases are open")
    said += [
        f"reconcile: the files from {run.left_out_from} to {run.left_out_until} were not read"
        for run in runs.left_out()
    ]
    return [*said, *keys_due()]


def keys_due() -> list[str]:
    """Return a sentence for each key that has been used or kept for too long.

    A key ring that does not load is a finding of its own.
    """
    try:
        return list(dates.due(content_of(settings.KEYRING_FILE)))
    except keyring.KeyRingError as error:
        return [str(error)]


def _of(job: DailyRun.Job) -> Iterator[str]:
    day = runs.day_due(late=GRACE)
    done = runs.last_done(job)
    if done is None or done.day < day:
        yield f"{job}: the run of {day} {_how_it_ended(job, done)}"
    # The cases of reconciliation are told as they are now.
    elif done.findings and job != Job.RECONCILE:
        yield f"{job}: {done.findings} findings in the run of {done.day}"
    elif job == Job.RECONCILE and done.counts.get("unread"):
        yield f"{job}: {done.counts['unread']} lines of {done.day} could not be read"


def _how_it_ended(job: DailyRun.Job, done: DailyRun | None) -> str:
    since = done.day if done else runs.day_due() - timedelta(days=runs.LOOKED_BACK)
    last = DailyRun.objects.filter(job=job, day__gt=since).order_by("-day", "-id").first()
    if last is None:
        return "did not happen"
    if last.status == Status.KILLED or runs.was_killed(last, timezone.now()):
        return f"was begun at {last.begun_at:%Y-%m-%d %H:%M} UTC and killed"
    if last.status == Status.RUNNING:
        return f"is under way since {last.begun_at:%Y-%m-%d %H:%M} UTC"
    return f"failed ({last.failure})"
