from celery import shared_task

from core import context
from payments import inquiries


@shared_task
def settle_unknown() -> None:
    with context.work():
        inquiries.sweep()
