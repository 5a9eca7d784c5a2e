"""The only way to a stored card number. Only acquirers may import this."""

import json

from core import keyring
from core.cards import CardData
from vault.models import SealedCard


class CardDestroyed(Exception):
    """The number is gone for good; what remains is its first six and last four."""


def reveal(sealed: SealedCard) -> CardData:
    """Return the card with its number, without a CVC.

    :raises CardDestroyed: the number was destroyed.
    :raises core.keyring.SealBroken: the row was changed, or moved to another merchant.
    :raises core.keyring.UnknownKey: it is sealed with a key that is not in the ring.
    """
    if sealed.sealed is None:
        raise CardDestroyed(f"The card {sealed.token} was destroyed.")
    content = json.loads(keyring.ring().open(bytes(sealed.sealed), context=sealed.seal_context))
    return CardData(
        content["number"],
        sealed.exp_month,
        sealed.exp_year,
        holder_name=content["holder_name"],
    )
