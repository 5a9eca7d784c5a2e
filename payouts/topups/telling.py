"""Announcements of transfers to the bank: a sandbox's bank makes them, others may expect them.

A topup is in the database before it is announced, and two announcements make one transfer.
"""

from datetime import timedelta

import structlog
from django.db import transaction

from acquirers import rails
from acquirers.rails import ExpectedTransfer
from core import clock, context
from core.errors import UpstreamUnavailable
from payouts.topups.models import Topup

# The wait before a bank that did not listen is told again; so long is a topup one process's.
WAIT = timedelta(seconds=30)
log = structlog.get_logger(__name__)


def tell() -> None:
    """Announce all topups to the bank that need it; safe to run twice at once."""
    while context.remaining_seconds() > 0 and (topup := _claimed()):
        if not _tells(topup):
            return  # The bank is away.
        Topup.objects.filter(id=topup.id).update(tell_at=None)


@transaction.atomic(durable=True)
def _claimed() -> Topup | None:
    rows = Topup.objects.filter(tell_at__lte=clock.now()).order_by("tell_at")
    topup: Topup | None = rows.select_for_update(skip_locked=True).first()
    if topup is not None:
        topup.tell_at = clock.now() + WAIT
        topup.save(update_fields=["tell_at"])
    return topup


def _tells(topup: Topup) -> bool:
    expected = ExpectedTransfer(
        reference=topup.reference,
        merchant_id=topup.merchant_id,
        amount=topup.amount,
        currency=topup.currency,
        source=topup.source,
    )
    try:
        is_told = rails.rail().expect(expected)
    except UpstreamUnavailable:
        is_told = False
    if not is_told:
        log.warning("topup_not_told", topup=topup.id)
    return is_told
