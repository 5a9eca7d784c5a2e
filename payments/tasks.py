from celery import shared_task

from core import context
from payments import card_destruction, inquiries


@shared_task
def settle_unknown() -> None:
    with context.work():
        inquiries.sweep()


@shared_task
def destroy_cards() -> None:
    with context.work():
        card_destruction.destroy_due()
