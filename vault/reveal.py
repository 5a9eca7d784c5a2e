"""The only way to a stored card number. Only acquirers may import this."""

import json
from contextlib import suppress
from typing import Any

from core import keyring
from core.cards import CardData
from vault.models import SealedCard


class CardDestroyed(Exception):
    """The number is gone for good; what remains is its first six and last four."""


DOES_NOT_OPEN = (CardDestroyed, keyring.SealBroken, keyring.UnknownKey)


def reveal(sealed: SealedCard) -> CardData:
    """Return the card with its number, without a CVC.

    :raises CardDestroyed: the number was destroyed.
    :raises core.keyring.SealBroken: the row was changed, or moved to another merchant.
    :raises core.keyring.UnknownKey: it is sealed with a key that is not in the ring.
    """
    content = _content(sealed)
    return CardData(
        content["number"],
        sealed.exp_month,
        sealed.exp_year,
        holder_name=content["holder_name"],
    )


def payer_ip(sealed: SealedCard) -> str | None:
    """Return the payer's network address; None without one, or if the card does not open."""
    try:
        address: str | None = _content(sealed).get("payer_ip")
    except DOES_NOT_OPEN:
        return None
    return address


def seal_payer_ip(sealed: SealedCard, address: str) -> None:
    """Seal the payer's network address with the card, in memory, in place of an earlier one.

    A card that does not open stays as it is, and its adapter says so.
    """
    with suppress(*DOES_NOT_OPEN):
        sealed.seal({**_content(sealed), "payer_ip": address})


def _content(sealed: SealedCard) -> dict[str, Any]:
    if sealed.sealed is None:
        raise CardDestroyed(f"The card {sealed.token} was destroyed.")
    content: dict[str, Any] = json.loads(
        keyring.ring().open(bytes(sealed.sealed), context=sealed.seal_context)
    )
    return content
