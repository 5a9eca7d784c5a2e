"""The job of checkout sessions; running it twice or late does no harm."""

from celery import shared_task

from core import context
from payments.checkout import expiry


@shared_task
def expire_due() -> None:
    with context.work():
        expiry.expire_due(job=expire_due.name)
