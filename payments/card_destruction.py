"""Which cards' numbers are not needed any more (architecture: vault)."""

import time
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from core import clock
from payments.models import Attempt
from payments.states import OPEN_ATTEMPT
from vault import cards
from vault.models import SealedCard

CHUNK = 1000
# A run is short, for the same worker settles payments; the next one goes on.
RUN_SECONDS = 3

log = structlog.get_logger(__name__)


def destroy_due() -> int:
    """Destroy the numbers that no attempt needs, and return how many.

    Safe beside itself and beside a rotation: what others hold is left to the next run,
    and so is what is left when the run's time is over.
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
    # Without the key: a payment that refers to a card does not wait. The blobs stay where they are.
    locked = rows.only("created_at").select_for_update(skip_locked=True, no_key=True, of=("self",))
    chunk = list(locked.order_by("created_at", "token")[:CHUNK])
    destroyed = cards.destroy([card.token for card in chunk], now=now)
    return destroyed, chunk[-1] if chunk else None


def _due(now: datetime) -> QuerySet[SealedCard]:
    """Return the sealed cards that no attempt uses, nor has used in the last 24 hours.

    One that was never tried counts from its creation.
    """
    before = now - timedelta(hours=settings.SEALED_CARD_HOURS)
    needed = Attempt.objects.filter(sealed_card=OuterRef("token")).filter(
        Q(status__in=OPEN_ATTEMPT) | Q(closed_at__gt=before)
    )
    return SealedCard.objects.filter(sealed__isnull=False, created_at__lte=before).exclude(
        Exists(needed)
    )


def _later_than(card: SealedCard) -> Q:
    """Begin after the last chunk: the cards that are still needed are not gone through again."""
    same_time = Q(created_at=card.created_at, token__gt=card.token)
    return Q(created_at__gte=card.created_at) & (Q(created_at__gt=card.created_at) | same_time)
