"""The job of notices; Celery's schedule begins it, and running it twice or late does no harm."""

from celery import shared_task

from acquirers.notices import polling
from core import context


@shared_task
def take_in() -> None:
    with context.work():
        polling.take_in(job=take_in.name)
