"""Jobs of the ledger; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from core import context
from ledger import checkpoints, settlement


@shared_task
def advance_checkpoints() -> None:
    with context.work():
        checkpoints.advance()


@shared_task
def settle_due() -> None:
    with context.work():
        settlement.settle_due(job=settle_due.name)
