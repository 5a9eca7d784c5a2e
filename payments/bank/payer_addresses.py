"""The payer's address that a bank gets with a card: given, of a page of ours, or the caller's."""

from typing import NamedTuple

from django.conf import settings

from acquirers import payers
from core import context, ip_addresses
from payments.intents.models import Attempt
from vault.models import SealedCard

GIVEN, PAGE, CALLER = Attempt.PayerIpSource


class PayerAddress(NamedTuple):
    """An address with its source; None for both if it is not known."""

    ip: str | None = None
    source: str | None = None


def of_request(given: str | None, *, is_at_our_page: bool = False) -> PayerAddress:
    """Return the address that the current request brings.

    :param given: by the merchant; it counts before the one that we see.
    """
    if given:
        return PayerAddress(given, GIVEN)
    seen = _seen()
    return PayerAddress(seen, PAGE if is_at_our_page else CALLER) if seen else PayerAddress()


def with_stored_card(card: SealedCard, address: PayerAddress) -> PayerAddress:
    """Seal the address with a card that was stored before; return the one that counts.

    A caller's counts after one that was given with the card, and is not written down.
    """
    if address.source == CALLER and (stored := payers.address_of(card)):
        return PayerAddress(stored, GIVEN)
    if address.ip:
        put = payers.seal if address.source == CALLER else payers.keep
        put(card, address.ip)
    return address


def note_page(attempt: Attempt) -> str | None:
    """Note in a locked attempt that a browser opens a page of ours for it; return its address.

    :returns: None if it is not known, or if the merchant has given the payer's address.
    """
    seen = None if attempt.payer_ip_source == GIVEN else _seen()
    if seen:
        attempt.payer_ip_source = PAGE
    return seen


def _seen() -> str | None:
    """Return the address that the request came from; in live a proxy's of ours is no payer's."""
    address = context.address()
    try:
        plain = ip_addresses.plain(address or "")
    except ValueError:  # A job, or a web process that listens on a Unix socket.
        return None
    return None if settings.LIVEMODE and not ip_addresses.is_public(plain) else plain
