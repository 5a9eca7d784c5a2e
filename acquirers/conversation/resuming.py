"""Resuming: a retry with the same Idempotency-Key goes on with the row of a request that died."""

from typing import Any

from django.db.models import QuerySet

from acquirers.conversation import leases
from acquirers.conversation.models import InDoubt
from api.idempotency import IdempotencyKeyInUse
from core import context


def leased(unfinished: QuerySet[Any]) -> Any:
    """Take the lease of the row that a request has left open, and return the row as it is now.

    :param unfinished: finds the row while it is open: none or one.
    :returns: None if there is none, or another process has finished it since it was found.
    :raises IdempotencyKeyInUse: another process is asking the bank this moment.
    """
    found = unfinished.first()
    if found is None:
        return None
    row: InDoubt | None = leases.take(found)
    if row is None:
        raise IdempotencyKeyInUse
    if not unfinished.exists():
        leases.give_back(row)
        return None
    context.mark_irrevocable()
    return row
