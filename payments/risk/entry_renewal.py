"""Entries of lists, made again under the primary key of the fingerprints, in short transactions.

An e-mail is opened for it. A card's number is gone: it is known under both keys if it was given
while both were there, and else renewed when a payment meets it (`payments.risk.lists`).
"""

from contextlib import suppress

from django.db import transaction
from django.db.models import Q

from core.keyring import SealBroken, UnknownKey, ring
from payments.risk import fingerprints, lists
from payments.risk.models import ListEntry
from vault import cards, peers

CHUNK = 500


def renew() -> int:
    """Make entries of earlier keys again; return how many. Safe to run twice, late, or at once.

    One that does not open, is there under both keys, or lists a card that was not given since,
    stays as it is: `manage.py keyring show` counts those.

    :raises core.keyring.KeyRingError: a living process makes fingerprints with an earlier key.
    """
    renewed, last = _renew_some(0)
    while last is not None:
        count, last = _renew_some(last)
        renewed += count
    return renewed


@transaction.atomic(durable=True)
def _renew_some(after: int) -> tuple[int, int | None]:
    """Return how many of the next entries were made again, and the last one's key."""
    behind = Q(pk__in=())
    for kind, purpose in fingerprints.OF_KIND.items():
        for name in fingerprints.superseded(purpose):
            behind |= Q(fingerprints.of_key("value", name), kind=kind)
    rows = ListEntry.objects.filter(behind, pk__gt=after).order_by("pk")
    page = list(rows.select_for_update(skip_locked=True, no_key=True)[:CHUNK])
    if not page:
        return 0, None
    for purpose in fingerprints.OF_KIND.values():
        peers.require_sealing_with(ring().primaries[purpose])
    fresh = {**_of_emails(page), **_of_cards(page)}
    # Each by itself: two entries of one address would hold each other up.
    return sum(lists.renew({pk: value}) for pk, value in fresh.items()), page[-1].pk


def _of_emails(page: list[ListEntry]) -> dict[int, str]:
    values = {}
    for entry in page:
        with suppress(SealBroken, UnknownKey):
            if entry.kind == ListEntry.Kind.EMAIL:
                values[entry.pk] = fingerprints.of_email(entry.merchant_id, address_of(entry))
    return values


def address_of(entry: ListEntry) -> str:
    """Return the e-mail address of an entry.

    :raises SealBroken: it was changed, or is another list's.
    :raises UnknownKey: it is sealed with a key that is not in the ring.
    """
    return ring().open(bytes(entry.sealed or b""), context=entry.seal_context).decode()


def _of_cards(page: list[ListEntry]) -> dict[int, str]:
    listed = [entry for entry in page if entry.kind == ListEntry.Kind.CARD]
    same = cards.same_cards([(str(entry.merchant_id), entry.value) for entry in listed])
    firsts = {entry.pk: same[entry.value][0] for entry in listed}
    return {
        pk: value
        for pk, value in firsts.items()
        if not fingerprints.is_superseded(fingerprints.CARD, value)
    }
