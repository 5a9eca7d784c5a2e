"""How the installation stands: its processes, and what waits for too long (`manage.py status`).

Each part is a line with a figure, and is wrong beyond its limit. The limits are several times what
a healthy installation has, so that a restart of a process wakes no person.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Max, Min
from django.utils import timezone

from acquirers.conversation import kinds
from audit.daily.models import DailyRun
from core import clock, redis, rounds
from vault import peers
from webhooks.models import Lane

# Each of them has to run somewhere; beat at one place alone.
WANTED = ("web", "worker", "sender", "beat")
# A delivery that is due waits for a free sender, and for its turn.
DUE_SECONDS = 120.0
# Rounds of a task that may be missing, and the least time that counts.
ROUNDS_MISSED, ROUND_SECONDS = 10, 120.0
AUDIT_AGE = timedelta(hours=50)


class Line(NamedTuple):
    """One part: its name, what is known of it, and whether a person has to look."""

    part: str
    text: str
    is_wrong: bool = False


def lines() -> Iterator[Line]:
    """Yield the parts in the order in which they fail: processes first, then what they leave."""
    yield from _processes()
    yield from _rounds()
    yield _deliveries()
    yield _unknown()
    yield _audit()


def _processes() -> Iterator[Line]:
    now = timezone.now()
    living = peers.living().values("kind").annotate(count=Count("id"), since=Min("started_at"))
    found = {row["kind"]: row for row in living}
    for kind in WANTED:
        row = found.get(kind)
        if row is None:
            yield Line(kind, "none was seen within a minute", is_wrong=True)
            continue
        releases = peers.living().filter(kind=kind).values_list("release", flat=True).distinct()
        text = f"{row['count']} of release {' and '.join(sorted(releases))}"
        age = f"the oldest for {_age(now - row['since'])}"
        too_many = kind == "beat" and row["count"] > 1
        yield Line(kind, f"{text}, {age}{': stop all but one' if too_many else ''}", too_many)


def _rounds() -> Iterator[Line]:
    try:
        ago = rounds.seconds_ago()
    except redis.Away:
        yield Line("rounds", "Redis does not answer: no worker gets its work", is_wrong=True)
        return
    every = {
        entry["task"]: float(entry["schedule"]) for entry in settings.CELERY_BEAT_SCHEDULE.values()
    }
    late = {
        task: ago.get(task)
        for task, seconds in sorted(every.items())
        if ago.get(task, float("inf")) > max(ROUND_SECONDS, ROUNDS_MISSED * seconds)
        and not _may_be_elsewhere(task)
    }
    if not late:
        yield Line("rounds", f"{len(every)} tasks, each in its time")
    for task, seconds in late.items():
        text = "no round is known" if seconds is None else f"the last round was {_ago(seconds)} ago"
        yield Line(task, text, is_wrong=True)


def _may_be_elsewhere(task: str) -> bool:
    """Return whether other processes than Celery's may do the task: `deliver_webhooks`."""
    return task in settings.CELERY_TASK_ROUTES


def _deliveries() -> Line:
    due = Lane.objects.filter(due_at__lte=clock.now()).aggregate(oldest=Min("due_at"))["oldest"]
    if due is None:
        return Line("deliveries", "none is due")
    waits = clock.now() - due
    return Line(
        "deliveries", f"the oldest is due for {_age(waits)}", waits.total_seconds() > DUE_SECONDS
    )


def _unknown() -> Line:
    now = clock.now()
    # The first of each is the longest unknown.
    firsts = [
        rows.first()
        for kind in kinds.KINDS.values()
        if kind.id_prefix
        for rows in kind.unanswered(now).values()
    ]
    begun: list[datetime] = [row.asked_at for row in firsts if row is not None]
    if not begun:
        return Line("unknown outcomes", "none")
    age = now - min(begun)
    text = f"the oldest is unknown for {_age(age)}"
    return Line("unknown outcomes", text, age.total_seconds() > settings.CASE_AFTER_SECONDS)


def _audit() -> Line:
    clean = DailyRun.objects.filter(
        job=DailyRun.Job.AUDIT, status=DailyRun.Status.DONE, findings=0
    ).aggregate(last=Max("ended_at"))
    last = clean["last"]
    if last is None:
        return Line("audit", "no clean one is known", is_wrong=True)
    age = timezone.now() - last
    return Line("audit", f"the last clean one was {_age(age)} ago", age > AUDIT_AGE)


def _ago(seconds: float) -> str:
    return _age(timedelta(seconds=seconds))


def _age(age: timedelta) -> str:
    """Write an age in its largest unit: `3 d`, `5 h`, `12 min`, `40 s`."""
    seconds = max(0, int(age.total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
