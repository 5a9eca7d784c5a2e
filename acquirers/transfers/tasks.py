"""The job of transfers' notices; running it twice or late does no harm."""

from celery import shared_task

from acquirers.transfers import taking_in
from core import context


@shared_task
def take_in() -> None:
    with context.work():
        taking_in.take_in(job=take_in.name)
