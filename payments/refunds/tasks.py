"""Jobs of refunds; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from core import context
from payments.refunds import waiting


@shared_task
def send_waiting() -> None:
    with context.work():
        waiting.look(job=send_waiting.name)
