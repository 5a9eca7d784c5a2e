"""The payer's network address, sealed with the card and destroyed with it."""

from vault import reveal
from vault.models import SealedCard


def address_of(card: SealedCard) -> str | None:
    """Return the address that is sealed with a card; None without one, or if it does not open."""
    return reveal.payer_ip(card)


def seal(card: SealedCard, address: str) -> None:
    """Seal an address with a card in memory: it goes to the bank with the card."""
    reveal.seal_payer_ip(card, address)


def keep(card: SealedCard, address: str) -> None:
    """Do as `seal`, and write it into the card's row, unless the card was destroyed meanwhile."""
    seal(card, address)
    still_sealed = SealedCard.objects.filter(token=card.token, sealed__isnull=False)
    still_sealed.update(sealed=card.sealed, key_id=card.key_id)
