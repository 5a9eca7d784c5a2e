"""The daily jobs: what each does, in the order in which they run."""

import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, BinaryIO, cast

import structlog
from django.conf import settings
from django.db.models import QuerySet, Sum
from django.utils.module_loading import import_string

from audit import contradictions, report
from audit.asked import Pace
from audit.daily import runs
from audit.daily.models import DailyRun
from audit.daily.runs import Result
from audit.reconciliation import reading
from audit.report import Report
from core import context
from ledger import settlement
from ledger.models import Due, Run
from payouts import daily
from payouts.models import Payout

Job = DailyRun.Job
# Missed days whose files one run reads; the older ones are a finding.
CAUGHT_UP = 60
# Looks of three seconds; what is left then is a finding.
MOST_LOOKS = 200
NAME = "audit.daily.tasks.run_due"

log = structlog.get_logger(__name__)


def run_due() -> None:
    """Begin the runs of the newest day that is over, unless they are done; safe to run twice.

    A run that fails stops no other one: its row says so, and it is tried again.
    """
    day = runs.day_due()
    for job, work in JOBS.items():
        if is_ours(job) and (run := runs.begin(job, day)):
            _run(run, work)


def is_ours(job: Job) -> bool:
    """Return whether beat runs the job: without a source of files a person reads them."""
    return job != Job.RECONCILE or bool(settings.SETTLEMENT_FILES)


def _run(run: DailyRun, work: Callable[[date, Result], None]) -> None:
    try:
        with context.work(), runs.recorded(run) as result:
            work(run.day, result)
    except Exception:
        log.exception("daily_run_failed", job=run.job, day=str(run.day))


def settle(day: date, result: Result) -> None:
    """Settle all that is due: beat's looks have done most of it since midnight."""
    for _ in range(MOST_LOOKS):
        with context.work():
            if not settlement.settle_due(job=NAME):
                break
    made = Run.objects.filter(date=day)
    left = Due.objects.filter(due_on__lte=day).count()
    result.counts = {"runs": made.count(), "moved": _sum_of(made), "left": left}
    result.findings = left


def pay_out(day: date, result: Result) -> None:
    """Follow the schedules of merchants once more, and count the day's payouts."""
    with context.work():
        daily.pay_out_due(job=NAME)
    made = Payout.objects.filter(scheduled_on=day)
    result.counts = {"payouts": made.count(), "sum": _sum_of(made)}


def reconcile(day: date, result: Result) -> None:
    """Read the bank's file of each day since the last reading; too old ones are left out."""
    last = runs.last_of_beat(Job.RECONCILE)
    missed = min(day, last.day + timedelta(days=1)) if last else day
    begin = max(missed, day - timedelta(days=CAUGHT_UP - 1))
    write = import_string(settings.SETTLEMENT_FILES)
    for one in (begin + timedelta(days=count) for count in range((day - begin).days + 1)):
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file:
            write(one, file)
            file.seek(0)
            made = reading.read(cast(BinaryIO, file.buffer), days=[one])
        runs.add(result, made)
        if made.unread:
            result.left_out.append(one)
    if missed < begin:
        result.left_out += [missed, begin - timedelta(days=1)]
        result.findings += 1


def audit(_day: date, result: Result) -> None:
    """Make every check of `manage.py audit`, and its cases."""
    _audit(Pace(), result)


def audited(pace: Pace) -> Report:
    """Make every check in the name of a person, as a run of its own.

    With a shorter window than the daily audit's it ends no finding of an audit before.

    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    with context.work(), runs.recorded(runs.begin_by_hand(Job.AUDIT)) as result:
        made = _audit(pace, result)
        if pace.window < Pace().window:
            result.counts[runs.SHORTER] = 1
    return made


def _audit(pace: Pace, result: Result) -> Report:
    made = report.run(pace)
    contradictions.note(made)
    result.counts = {
        "checks": len(made.findings),
        "looked_at": sum(found.looked_at for found in made.findings),
        "unknown": sum(len(found.unknown) for found in made.findings),
    }
    result.findings = sum(len(one.differences) + len(one.unvouched) for one in made.findings)
    return made


def _sum_of(rows: QuerySet[Any]) -> int:
    return int(rows.aggregate(total=Sum("amount"))["total"] or 0)


JOBS: dict[Job, Callable[[date, Result], None]] = {
    Job.SETTLEMENT: settle,
    Job.PAYOUTS: pay_out,
    Job.RECONCILE: reconcile,
    Job.AUDIT: audit,
}
