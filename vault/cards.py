"""The door by which a card's number enters the vault; `vault.reveal` is the only way out."""

from collections.abc import Sequence
from datetime import datetime

from core import ids, keyring, rows
from core.cards import CardData
from vault.models import SealedCard


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
    row = SealedCard(
        token=ids.new("tok"),
        merchant_id=merchant_id,
        fingerprint=fingerprint(merchant_id, card.number),
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
    """Return 64 hex characters, the same for the same number of one merchant.

    Keyed: a plain hash of a card number is found again by trying all numbers.
    """
    return keyring.ring().mac("card_fingerprint", f"{merchant_id}|{number}".encode()).hex()
