"""How the installation stands: its processes, and what waits for too long (`manage.py status`).

Each part is a line with a figure, and is wrong beyond its limit. The limits are several times what
a healthy installation has, so that a restart of a process wakes no person.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from audit import figures
from core import installation, redis

# Each of them has to run somewhere.
WANTED = ("web", "worker", "sender", "beat")
# A due delivery waits for a free sender, and for its endpoint's turn.
DUE_SECONDS = 120.0
# Rounds of a task that may be missing, and the least time that counts.
ROUNDS_MISSED, ROUND_SECONDS = 10, 120.0
AUDIT_AGE = timedelta(hours=50)
# Of daily backups two may be missed; a new live installation has as long for its first one.
BACKUP_AGE = timedelta(hours=50)
# A new installation's first one, since beat began.
FIRST_AUDIT = timedelta(minutes=15)


class Line(NamedTuple):
    """One part: its name, what is known of it, and whether a person has to look."""

    part: str
    text: str
    is_wrong: bool = False


def lines() -> Iterator[Line]:
    """Yield the parts in the order in which they fail: a hold, processes, then what they leave."""
    yield _installation()
    yield from _processes()
    yield from _rounds()
    yield _deliveries()
    yield _unknown()
    yield _audit()
    yield _backup()


def details() -> Iterator[Line]:
    """Yield each living process, and the last round of each task of beat; none of them is wrong.

    What is wrong with one is in `lines`.
    """
    now = timezone.now()
    for process in figures.each_process():
        text = f"release {process.release} on {process.host} for {_age(now - process.started_at)}"
        yield Line(process.kind, text)
    try:
        ago = figures.task_seconds()
    except redis.Away:
        return
    for task, seconds in sorted(figures.every_seconds().items()):
        yield Line(task, f"{_last_round(ago.get(task))}, one is due each {_ago(seconds)}")


def _installation() -> Line:
    reason = installation.reason_held()
    if reason is None and settings.SYNCHRONOUS_STANDBYS and not installation.waits_for_standbys():
        text = "SYNCHRONOUS_STANDBYS is set, and no commit waits: a failover would lose payments"
        return Line("installation", text, is_wrong=True)
    if reason is None:
        return Line("installation", "open")
    if reason == installation.FOR_BEAT:
        return Line("installation", f"changes wait: {reason}", is_wrong=True)
    text = f"held as a copy: {reason} Run: manage.py after_restore compare"
    return Line("installation", text, is_wrong=True)


def _processes() -> Iterator[Line]:
    found = figures.processes()
    for kind in WANTED:
        living = found.get(kind)
        if living is None:
            yield Line(kind, "none was seen within a minute", is_wrong=True)
            continue
        text = f"{living.number} of release {' and '.join(living.releases)}"
        yield Line(kind, f"{text}, the oldest for {_age(timezone.now() - living.since)}")


def _rounds() -> Iterator[Line]:
    try:
        ago = figures.task_seconds()
    except redis.Away:
        yield Line("rounds", "Redis does not answer: no worker gets its work", is_wrong=True)
        return
    every = figures.every_seconds()
    # A task without a round is late since beat began: a new installation has nothing wrong.
    since_beat = _seconds_of_beat()
    late = {
        task: ago.get(task)
        for task, seconds in sorted(every.items())
        if ago.get(task, since_beat) > max(ROUND_SECONDS, ROUNDS_MISSED * seconds)
        and not _may_be_elsewhere(task)
    }
    if not late:
        yield Line("rounds", f"{len(every)} tasks, each in its time")
    for task, seconds in late.items():
        yield Line(task, _last_round(seconds), is_wrong=True)


def _last_round(seconds: float | None) -> str:
    return "no round is known" if seconds is None else f"the last round was {_ago(seconds)} ago"


def _seconds_of_beat() -> float:
    beat = figures.processes().get("beat")
    return (timezone.now() - beat.since).total_seconds() if beat else float("inf")


def _may_be_elsewhere(task: str) -> bool:
    """Return whether other processes than Celery's may do the task: `deliver_webhooks`."""
    return task in settings.CELERY_TASK_ROUTES


def _deliveries() -> Line:
    waits = figures.unserved_seconds()
    if waits is None:
        return Line("deliveries", "none waits for a sender")
    text = f"the oldest has waited {_ago(waits)} for a sender"
    return Line("deliveries", text, waits > DUE_SECONDS)


def _unknown() -> Line:
    unknown = figures.unknown_seconds()
    if not unknown:
        return Line("unknown outcomes", "none")
    seconds = max(unknown.values())
    text = f"the oldest is unknown for {_ago(seconds)}"
    return Line("unknown outcomes", text, seconds > settings.CASE_AFTER_SECONDS)


def _audit() -> Line:
    seconds = figures.clean_audit_seconds()
    if seconds is None:
        is_new = not figures.has_audited() and _seconds_of_beat() < FIRST_AUDIT.total_seconds()
        text = "the first one comes within minutes" if is_new else "no clean one is known"
        return Line("audit", text, is_wrong=not is_new)
    text = f"the last clean one was {_ago(seconds)} ago"
    return Line("audit", text, seconds > AUDIT_AGE.total_seconds())


def _backup() -> Line:
    made_at, founded_at = installation.newest_backup()
    now = timezone.now()
    if made_at is None:
        is_old = founded_at is not None and now - founded_at > BACKUP_AGE
        text = "none was reported (manage.py backup_made)"
        return Line("backup", text, is_wrong=settings.LIVEMODE and is_old)
    return Line("backup", f"the newest is of {_age(now - made_at)} ago", now - made_at > BACKUP_AGE)


def _ago(seconds: float) -> str:
    return _age(timedelta(seconds=seconds))


def _age(age: timedelta) -> str:
    """Write an age in its largest unit: `3 d`, `5 h`, `12 min`, `40 s`."""
    seconds = max(0, int(age.total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
