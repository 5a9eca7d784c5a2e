"""Jobs of payments; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from acquirers.conversation import sweeper
from core import context
from payments.charging import card_destruction, card_testing
from payments.deciding import watch
from payments.intents import counted_days


# Merchants see the name in their request logs.
@shared_task(name="payments.intents.tasks.resolve_unknown")
def resolve_unknown() -> None:
    with context.work():
        sweeper.sweep(job=resolve_unknown.name)


@shared_task
def destroy_cards() -> None:
    with context.work():
        card_destruction.destroy_due()


@shared_task
def watch_tested() -> None:
    with context.work():
        card_testing.watch_tested()


@shared_task
def watch_cases() -> None:
    with context.work():
        watch.watch()


@shared_task
def count_days() -> None:
    with context.work():
        counted_days.count_due()
