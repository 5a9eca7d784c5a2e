"""Jobs of payouts; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from core import context
from payouts import daily


@shared_task
def pay_out_daily() -> None:
    with context.work():
        daily.pay_out_due(job=pay_out_daily.name)
