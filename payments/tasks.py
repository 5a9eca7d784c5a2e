from celery import shared_task

from payments import card_destruction


@shared_task
def destroy_cards() -> None:
    card_destruction.destroy_due()
