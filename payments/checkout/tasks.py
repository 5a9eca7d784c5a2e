"""Jobs of checkout sessions; running one twice or late does no harm."""

from celery import shared_task

from core import context
from payments.checkout import expiry, held_cards


@shared_task
def expire_due() -> None:
    with context.work():
        expiry.expire_due(job=expire_due.name)


@shared_task
def destroy_held_cards() -> None:
    with context.work():
        held_cards.destroy_due()
