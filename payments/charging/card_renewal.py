"""Attempts that rules still count, brought under the primary key of the cards' fingerprints.

A card that is met is renewed at that moment (`risk_gate.RENEW`). This is for those that are not
met while no rule counts, or that processes of both key rings have met: they would be two cards.
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core import clock, ids
from core.keyring import ring
from payments.intents.models import Attempt
from payments.risk import fingerprints
from vault import cards, peers

CHUNK = 500


def renew() -> int:
    """Bring attempts under the primary key; return how many. Safe to run twice, late, or at once.

    :raises core.keyring.KeyRingError: a living process makes fingerprints with an earlier key.
    """
    renewed, last = _renew_some(_first_id())
    while last is not None:
        count, last = _renew_some(last)
        renewed += count
    return renewed


@transaction.atomic(durable=True)
def _renew_some(after: str) -> tuple[int, str | None]:
    """Return how many of the next attempts were brought under it, and the last one's id."""
    behind = Q(pk__in=())
    for name in fingerprints.superseded(fingerprints.CARD):
        behind |= fingerprints.of_key("card_fingerprint", name)
    since = clock.now() - fingerprints.WINDOW_MAX
    rows = Attempt.objects.filter(behind, pk__gt=after, is_counted=True, created_at__gt=since)
    rows = rows.only("merchant_id", "card_fingerprint").order_by("pk")
    page = list(rows.select_for_update(skip_locked=True, no_key=True)[:CHUNK])
    if not page:
        return 0, None
    peers.require_sealing_with(ring().primaries[fingerprints.CARD])
    same = cards.same_cards([(row.merchant_id, row.card_fingerprint or "") for row in page])
    fresh = []
    for row in page:
        first = same[row.card_fingerprint or ""][0]
        if first != row.card_fingerprint:
            row.card_fingerprint = first
            fresh.append(row)
    return Attempt.objects.bulk_update(fresh, ["card_fingerprint"]), page[-1].pk


def _first_id() -> str:
    """Return an id of before the first attempt that a rule may count.

    Ids have the real time, by which the movable clock is never behind.
    """
    first = timezone.now() - fingerprints.WINDOW_MAX - timedelta(hours=1)
    return f"att_{ids.base62(clock.unix(first) * 1000, ids.TIME_CHARACTERS)}"
