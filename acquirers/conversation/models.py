"""The columns that every row has whose end the bank decides."""

from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q


class InDoubt(models.Model):
    """A request to a bank: it exists before the bank is asked, and until it is known how it ended.

    Nothing but `schedule` writes `due_at`, and nothing but `leases` writes `lease_until`.
    """

    # The relations that are read with a row that the bank is asked about.
    read_with: ClassVar[tuple[str, ...]] = ()

    # Each kind has its own reference to the merchant, in its keys.
    merchant_id: str
    # The request that began it; events that end it name this request as their cause.
    request_id = models.CharField(max_length=40)
    asked_at = models.DateTimeField()
    # When the sweeper looks at it next; null when nothing can become due.
    due_at = models.DateTimeField(null=True)
    # Until then (real time) only the holder of the lease asks the bank.
    lease_until = models.DateTimeField(null=True)
    # When it became known how it ended; null while it is open.
    closed_at = models.DateTimeField(null=True)
    inquiry_count = models.SmallIntegerField(default=0)
    # The answers "no record" that came late enough after `asked_at` to be believed.
    no_record_count = models.SmallIntegerField(default=0)

    class Meta:
        abstract = True
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="%(class)ss_that_are_due"
            ),
        ]


def begun(now: datetime, *, lease_until: datetime | None) -> dict[str, Any]:
    """Return the columns of a row that begins now.

    :param lease_until: in real time, None for a row that its writer leaves to the sweeper.
    """
    return {"asked_at": now, "due_at": now, "lease_until": lease_until}
