"""The job of disputes; Celery's schedule begins it, and running it twice or late does no harm."""

from celery import shared_task

from core import context
from payments.disputes import deadlines


@shared_task
def close_overdue() -> None:
    with context.work():
        deadlines.close_overdue(job=close_overdue.name)
