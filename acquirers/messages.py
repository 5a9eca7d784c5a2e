"""Parts of messages that banks' protocols have in common: the card, amounts and currencies."""

import re

import structlog
from django.utils.translation import get_language

from acquirers import wire
from core import keyring
from core.cards import CardData
from vault import reveal
from vault.models import SealedCard

# ISO 4217 by number. All of them have two decimals.
NUMERIC = {"try": "949", "usd": "840", "eur": "978", "gbp": "826"}
AMOUNT = re.compile(r"(0|[1-9][0-9]{0,11})\.([0-9]{2})")

log = structlog.get_logger(__name__)


def revealed(sealed: SealedCard) -> CardData:
    """Return the card in clear, to be sent.

    :raises wire.NotSent: the sealed card does not open, or was destroyed.
    """
    try:
        return reveal.reveal(sealed)
    except (reveal.CardDestroyed, keyring.SealBroken, keyring.UnknownKey) as problem:
        # An operator has to look into a card that does not open, but nothing left this machine.
        log.error("card_not_revealed", error=type(problem).__name__, vault_token=sealed.token)
        raise wire.NotSent from problem


def expiry(card: CardData) -> tuple[str, str]:
    """Return month and year of a card's expiry, two digits each."""
    return f"{card.exp_month:02d}", f"{card.exp_year % 100:02d}"


def numeric(currency: str) -> str:
    """Return the number by which banks know a currency.

    :raises wire.NotSent: it is none of these banks' currencies.
    """
    if currency not in NUMERIC:
        log.error("currency_not_spoken", currency=currency)
        raise wire.NotSent
    return NUMERIC[currency]


def written(amount: int) -> str:
    """Write minor units with exactly two digits behind the point; no float comes near."""
    return f"{amount // 100}.{amount % 100:02d}"


def minor(text: str) -> int:
    """Return the minor units of an amount that was written so.

    :raises ValueError: it is written in another way.
    """
    read = AMOUNT.fullmatch(text)
    if read is None:
        raise ValueError("no amount")
    return int(read[1] + read[2])


def language() -> str:
    """Return the language of the page that is being written, as gates take it."""
    return "tr" if (get_language() or "").startswith("tr") else "en"


def installments(count: int) -> str:
    """Return the number of installments as banks take it: nothing for a payment at once."""
    return str(count) if count > 1 else ""
