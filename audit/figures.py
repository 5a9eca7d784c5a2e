"""Figures of the installation: its processes, its rounds of work, and what waits.

One source for `manage.py status`, which knows the limits, and for the metrics (`audit.gauges`).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Count, Max, Min
from django.utils import timezone

from acquirers.conversation import kinds
from audit.daily import runs
from audit.daily.models import DailyRun
from core import clock, rounds
from core.models import Process
from payouts.models import Payout
from payouts.states import PayoutStatus
from vault import peers
from webhooks.delivery import fairness


class Living(NamedTuple):
    """The processes of a kind that were seen within a minute."""

    number: int
    since: datetime
    releases: list[str]


def processes() -> dict[str, Living]:
    """Return the living processes by kind."""
    living = peers.living().values("kind").annotate(count=Count("id"), since=Min("started_at"))
    return {row["kind"]: Living(row["count"], row["since"], _releases(row)) for row in living}


def each_process() -> Iterable[Process]:
    """Return the living processes, of each kind the oldest first."""
    return peers.living().order_by("kind", "started_at", "id")


def _releases(row: Mapping[str, Any]) -> list[str]:
    rows = peers.living().filter(kind=row["kind"])
    return sorted(rows.values_list("release", flat=True).distinct())


def task_seconds() -> dict[str, float]:
    """Return how long ago each task's last round ended; a task without one is left out.

    :raises redis.Away: Redis did not answer.
    """
    ago = rounds.seconds_ago()
    return {task: ago[task] for task in every_seconds() if task in ago}


def every_seconds() -> dict[str, float]:
    """Return the seconds between two rounds of each of beat's tasks."""
    entries = settings.CELERY_BEAT_SCHEDULE.values()
    return {entry["task"]: float(entry["schedule"]) for entry in entries}


def unserved_seconds() -> float | None:
    """Return for how long the oldest delivery is due that waits for a sender; None if none does.

    Deliveries that wait for their receiver are left out (`fairness.unserved`).
    """
    now = clock.now()
    due = fairness.unserved(now).aggregate(oldest=Min("due_at"))["oldest"]
    return (now - due).total_seconds() if due else None


def unknown_seconds() -> dict[str, float]:
    """Return for how long the oldest row of each kind is unknown; a kind without one is left out.

    By the prefix of the kind's ids, such as `att`.
    """
    now = clock.now()
    found: dict[str, float] = {}
    for kind in kinds.KINDS.values():
        # The first of each is the longest unknown.
        firsts = [rows.first() for rows in kind.unanswered(now).values()]
        ages = [(now - row.asked_at).total_seconds() for row in firsts if row is not None]
        if kind.id_prefix and ages:
            found[kind.id_prefix] = max(ages)
    return found


def payout_due_seconds() -> float | None:
    """Return for how long the oldest payout is due that has not left; None if none is."""
    now = clock.now()
    waiting = Payout.objects.filter(status=PayoutStatus.PENDING, due_at__lte=now)
    due = waiting.aggregate(oldest=Min("due_at"))["oldest"]
    return (now - due).total_seconds() if due else None


def unknown_kinds() -> list[str]:
    """Return the prefixes of the ids of which a row's end may be unknown."""
    return [kind.id_prefix for kind in kinds.KINDS.values() if kind.id_prefix]


def has_audited() -> bool:
    """Return whether an audit has ever ended, in whatever way."""
    ended = DailyRun.objects.exclude(status=DailyRun.Status.RUNNING)
    return ended.filter(job=DailyRun.Job.AUDIT).exists()


def clean_audit_seconds() -> float | None:
    """Return how long ago the last clean audit ended, daily or by hand; None if none is known."""
    done = runs.conclusive().filter(job=DailyRun.Job.AUDIT, status=DailyRun.Status.DONE)
    last = done.filter(findings=0).aggregate(last=Max("ended_at"))["last"]
    return (timezone.now() - last).total_seconds() if last else None
