"""Jobs of statements; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from core import context
from payouts.statements import closing


@shared_task
def close_months() -> None:
    with context.work():
        closing.close_due()
