"""Jobs of the ledger; Celery's schedule begins them, and running one twice or late does no harm."""

from celery import shared_task

from core import context
from ledger import checkpoints


@shared_task
def advance_checkpoints() -> None:
    with context.work():
        checkpoints.advance()
