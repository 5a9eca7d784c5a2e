"""The job of topups; Celery's schedule begins it, and running it twice or late does no harm."""

from celery import shared_task

from core import context
from payouts.topups import telling


@shared_task
def tell_bank() -> None:
    with context.work():
        telling.tell()
