"""The door by which a card's number enters the vault; `vault.reveal` is the only way out."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db.models import Q

from core import ids, keyring, rows
from core.cards import CardData
from core.keyring.purposes import key_of_fingerprint
from vault.models import SealedCard

PURPOSE = "card_fingerprint"


def seal(
    merchant_id: str, card: CardData, *, now: datetime, payer_ip: str | None = None
) -> SealedCard:
    """Store the card's number, expiry and holder; the CVC is not stored here.

    One INSERT, in the caller's transaction.

    :param payer_ip: the payer's network address, which lives as long as the number.
    """
    row = sealed_row(merchant_id, card, now=now, payer_ip=payer_ip)
    rows.insert(row)
    return row


def sealed_row(
    merchant_id: str, card: CardData, *, now: datetime, payer_ip: str | None = None
) -> SealedCard:
    """Return what `seal` stores, not stored yet."""
    first, *others = fingerprints(merchant_id, card.number)
    row = SealedCard(
        token=ids.new("tok"),
        merchant_id=merchant_id,
        fingerprint=first,
        other_fingerprints=others or None,
        bin=card.bin,
        last4=card.last4,
        exp_month=card.exp_month,
        exp_year=card.exp_year,
        created_at=now,
    )
    content = {"number": card.number, "holder_name": card.holder_name}
    row.seal({**content, "payer_ip": payer_ip} if payer_ip else content)
    return row


def destroy(tokens: Sequence[str], *, now: datetime) -> int:
    """Forget the cards' numbers for good and return how many were still sealed.

    Token, fingerprint, first six and last four stay. One UPDATE, in the caller's
    transaction, which has locked the rows.
    """
    still_sealed = SealedCard.objects.filter(token__in=tokens, sealed__isnull=False)
    return still_sealed.update(sealed=None, destroyed_at=now)


def fingerprint(merchant_id: str, number: str) -> str:
    """Return a text that is the same for the same number of one merchant, under the primary key.

    Keyed: a plain hash of a card number is found again by trying all numbers.
    """
    return fingerprints(merchant_id, number)[0]


def fingerprints(merchant_id: str, number: str) -> list[str]:
    """Return the fingerprint under each of the keys, that of the primary one first."""
    return keyring.ring().fingerprints(PURPOSE, f"{merchant_id}|{number}".encode())


# --- A change of the fingerprints' key --------------------------------------------------------


def known_fingerprints(card: SealedCard) -> tuple[str, ...]:
    """Return the fingerprints of a card under the keys that there were when it was sealed.

    That of the primary key is the first.
    """
    known = [card.fingerprint, *(card.other_fingerprints or [])]
    return tuple(sorted(known, key=_is_not_primary))


def same_cards(known: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    """Return by fingerprint all of its card's, that of the primary key first; one statement.

    Of a card that was not given while both keys were there only the one is known. Costs no
    statement while each is of the only key.

    :param known: merchant and fingerprint of each card.
    """
    ring, found = keyring.ring(), {one: [one] for _merchant, one in known}
    only = ring.names(PURPOSE)
    if len(only) == 1 and all(key_of_fingerprint(PURPOSE, one) == only[0] for one in found):
        return found
    several = SealedCard.objects.filter(other_fingerprints__isnull=False).filter(
        Q(merchant__in={merchant for merchant, _one in known}, fingerprint__in=found)
        | Q(other_fingerprints__has_any_keys=list(found))
    )
    for first, others in several.values_list("fingerprint", "other_fingerprints").distinct():
        card = {first, *(others or ())}
        for one in card & found.keys():
            found[one] = sorted(card.union(found[one]), key=_is_not_primary)
    return found


def _is_not_primary(fingerprint: str) -> bool:
    return key_of_fingerprint(PURPOSE, fingerprint) != keyring.ring().primaries[PURPOSE]


def require_known_under(key_id: str) -> None:
    """Refuse to make a key primary under which cards that may still be charged are not known.

    :raises KeyRingError: there is such a card: it would be another card for lists and rules.
    """
    sealed = SealedCard.objects.filter(sealed__isnull=False).order_by("created_at")
    cards = sealed.values_list("fingerprint", "other_fingerprints").iterator()
    unknown = sum(not _is_known_under(key_id, (one, *(others or ()))) for one, others in cards)
    if unknown:
        raise keyring.KeyRingError(
            f"{unknown} cards were sealed before {key_id} was added. They are destroyed a day "
            "after they were given, or after their payment has ended: promote it then."
        )


def _is_known_under(key_id: str, known: Sequence[str]) -> bool:
    return any(key_of_fingerprint(PURPOSE, one) == key_id for one in known)
