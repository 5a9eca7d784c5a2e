"""Destruction of card numbers that no attempt needs any more (architecture: vault)."""

import time
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from core import clock
from payments.intents.models import Attempt
from payments.intents.states import OPEN_ATTEMPT
from vault import cards
from vault.models import SealedCard

CHUNK = 1000
# A run is short, because the same worker resolves open payments; the next run goes on.
RUN_SECONDS = 3

log = structlog.get_logger(__name__)


def destroy_due() -> int:
    """Destroy the numbers that no attempt needs, and return how many.

    Two runs, or a run and a rotation of keys, may work at the same time: rows that others have
    locked are left to the next run, and so are those left when the run's 3 s are over.
    """
    now, ends_at = clock.now(), time.monotonic() + RUN_SECONDS
    destroyed, last = 0, None
    while time.monotonic() < ends_at:
        count, last = _destroy_some(now, after=last)
        destroyed += count
        if last is None:
            break
    if destroyed:
        log.info("cards_destroyed", count=destroyed)
    return destroyed


@transaction.atomic(durable=True)
def _destroy_some(now: datetime, *, after: SealedCard | None) -> tuple[int, SealedCard | None]:
    """Destroy one chunk and return how many it was, with its last card; None if there was none."""
    rows = _due(now) if after is None else _due(now).filter(_later_than(after))
    # `no_key`: a payment that begins to refer to a card need not wait. `only`: the sealed numbers
    # are not read.
    locked = rows.only("created_at").select_for_update(skip_locked=True, no_key=True, of=("self",))
    chunk = list(locked.order_by("created_at", "token")[:CHUNK])
    destroyed = cards.destroy([card.token for card in chunk], now=now)
    return destroyed, chunk[-1] if chunk else None


def _due(now: datetime) -> QuerySet[SealedCard]:
    """Return the sealed cards that no attempt uses, nor has used in the last 24 hours.

    A card that was never tried counts from its creation.
    """
    before = now - timedelta(hours=settings.SEALED_CARD_HOURS)
    needed = Attempt.objects.filter(sealed_card=OuterRef("token")).filter(
        Q(status__in=OPEN_ATTEMPT) | Q(closed_at__gt=before)
    )
    return SealedCard.objects.filter(sealed__isnull=False, created_at__lte=before).exclude(
        Exists(needed)
    )


def _later_than(card: SealedCard) -> Q:
    """Return the condition for cards after the last chunk, so that no card is looked at twice."""
    same_time = Q(created_at=card.created_at, token__gt=card.token)
    return Q(created_at__gte=card.created_at) & (Q(created_at__gt=card.created_at) | same_time)
