"""The daily jobs; Celery's schedule looks for what is due, and running one twice does no harm."""

from celery import shared_task

from audit.daily import digests, jobs, runs
from audit.reconciliation import kept
from core import context


@shared_task
def run_due() -> None:
    jobs.run_due()


@shared_task
def digest_days() -> None:
    with context.work():
        digests.make_due()


@shared_task
def forget_old() -> None:
    with context.work():
        runs.forget_old()
        kept.forget_old()
