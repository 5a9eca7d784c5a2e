"""Notices of transfers: polled, stored, and applied in order, each with its mark.

Runs may meet: storing twice writes once, and a notice is applied by the run that locks it.
"""

from collections.abc import Callable, Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from acquirers import notice_applier, rails
from acquirers.noticed import NoticesUnreadable
from acquirers.transfers.models import TransferNotice
from core import clock
from core.detection import mask_card_numbers
from core.errors import UpstreamUnavailable
from core.registry import Registry

PAGE = 200
REMITTANCE_MAX = 140
Handler = Callable[[TransferNotice], None]
# By the notice's kind. A notice without a handler is kept until there is one.
HANDLERS: Registry[Handler] = Registry("handler of notices of transfers")

log = structlog.get_logger(__name__)


def register(**handlers: Handler) -> None:
    """Add functions that apply notices of a kind; called in `AppConfig.ready()`."""
    for kind, handler in handlers.items():
        HANDLERS.add(kind, handler)


class TransferNotKnown(Exception):
    """The notice is about a transfer that we have not sent; it stays, and is tried again."""


class Transfers(notice_applier.NoticeApplier):
    """Notices of the bank that pays out."""

    model, called, not_known = TransferNotice, "transfer_notice", TransferNotKnown

    def appliable(self) -> QuerySet[TransferNotice]:
        waiting = TransferNotice.objects.filter(applied_at=None, kind__in=HANDLERS)
        same = {name: OuterRef(name) for name in ("rail", "reference")}
        return waiting.exclude(Exists(waiting.filter(**same, number__lt=OuterRef("number"))))

    def hand_over(self, notice: TransferNotice) -> None:
        HANDLERS[notice.kind](notice)


def take_in(*, job: str) -> None:
    """Ask the bank for its notices and apply them, after those that are there already.

    :param job: the name of this work in the request logs.
    """
    try:
        TRANSFERS.run(job=job)
        if settings.TRANSFERS and _store_new():
            TRANSFERS.run(job=job)
    except DatabaseError:
        # It is away: all that a run does is in the database, and the next one goes on.
        log.warning("transfer_notices_not_taken_in", exc_info=True)


def last_number() -> int:
    """Return the number of the bank's last stored notice, 0 before the first."""
    rows = TransferNotice.objects.filter(rail=settings.TRANSFERS)
    return rows.aggregate(last=Max("number"))["last"] or 0


def _store_new() -> bool:
    try:
        told = rails.rail().notices(after=last_number(), limit=PAGE)
    except (NoticesUnreadable, UpstreamUnavailable):
        log.warning("transfer_notices_not_read", exc_info=True)
        return False
    if not _stored(told):
        # One of them is of no form that can be kept. The others are.
        for one in told:
            if not _stored([one]):
                log.error("transfer_notice_unreadable", number=one.number)
                _stored([rails.unreadable(one.number, clock.now())])
    return bool(told)


def _stored(told: Sequence[rails.TransferNotice]) -> bool:
    """Write notices down, those that are there already stay; False if one cannot be kept."""
    try:
        with transaction.atomic():
            rows = [_row(one) for one in told]
            TransferNotice.objects.bulk_create(rows, ignore_conflicts=True)
    except (DataError, IntegrityError, AttributeError, OverflowError, TypeError, ValueError):
        return False
    return True


def _plain(text: str) -> str:
    """Return the sender's text as it may be kept: in one line, without a card number."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return mask_card_numbers(line)[:REMITTANCE_MAX]


def _row(told: rails.TransferNotice) -> TransferNotice:
    now = clock.now()
    return TransferNotice(
        rail=settings.TRANSFERS,
        number=told.number,
        kind=told.kind,
        reference=told.reference,
        amount=told.amount,
        currency=told.currency,
        failure_code=told.failure_code,
        trace_id=told.trace_id,
        remittance=_plain(told.remittance),
        at=told.at,
        stored_at=now,
        next_try_at=now,
    )


TRANSFERS = Transfers()
