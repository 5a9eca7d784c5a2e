"""The payment method that a payer offers: a card, its billing details, the need for 3-D Secure."""

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

import acquirers
from acquirers import doubt, routing
from acquirers.sandbox import cards
from core import clock
from core.cards import CardData
from core.errors import DomainError
from core.names import reachable
from merchants.models import Merchant
from payments.installments import bins
from payments.intents.refusals import CardNotSupported
from vault import cards as vault_cards
from vault.models import SealedCard

TEST_CARDS_ONLY = (
    "This is a sandbox: it takes the test cards of its documentation only, and never a real card."
)


@dataclass(frozen=True, slots=True)
class OfferedCard:
    """A card that the installation takes, with its issuer's facts.

    :param shown: the card as it is frozen with its payment: the part that the API shows, and
        those of the issuer's facts that only the service needs.
    :param data: None if the card was sealed before.
    :param token: of a card that was sealed before.
    :param payer_ip: is sealed with the card.
    """

    shown: dict[str, Any]
    cvc: str | None = field(repr=False)
    data: CardData | None = None
    token: str | None = None
    payer_ip: str | None = field(default=None, repr=False)

    def seal(self, merchant: Merchant) -> SealedCard:
        """Return the card's row in the vault, in the caller's transaction.

        :raises CardGone: it was sealed before, and destroyed since.
        """
        if self.data is not None:
            now = clock.now()
            return vault_cards.seal(merchant.id, self.data, now=now, payer_ip=self.payer_ip)
        sealed: SealedCard = (
            SealedCard.objects.for_merchant(merchant).select_for_update().get(token=self.token)
        )
        if sealed.is_destroyed:
            raise CardGone
        return sealed


class CardGone(DomainError):
    """A card that was sealed for a later press is destroyed: its payer types it again."""

    code = "parameter_missing"
    message = "The card is no longer kept."
    param = "payment_method_data[card]"


def accept(
    merchant: Merchant, card: CardData, billing: dict[str, Any], *, currency: str
) -> OfferedCard:
    """Look the card's issuer up, before the number is sealed.

    :param billing: its `name` is taken as the card holder's if the card comes without one.
    :raises CardNotSupported: no acquirer takes this number.
    :raises UpstreamUnavailable: there is no acquirer.
    """
    routes = routing.routes_of(merchant)
    routes.require_open(currency)
    if not settings.LIVEMODE and card.number not in cards.NUMBERS:
        raise CardNotSupported(advice=TEST_CARDS_ONLY)
    facts = bins.facts_of(card.number, built_in=acquirers.built_in_bins(), merchant=merchant)
    shown = {
        "bin": card.bin,
        "last4": card.last4,
        "masked": card.masked,
        "exp_month": card.exp_month,
        "exp_year": card.exp_year,
        **bins.frozen(facts, merchant),
    }
    terminals = routes.terminals_for(currency, shown)
    if not any(doubt.accepts(acquirers.at(one), one, card.number) for one in terminals):
        raise CardNotSupported
    holder = card.holder_name or billing.get("name")
    named = CardData(card.number, card.exp_month, card.exp_year, card.cvc, holder)
    return OfferedCard(shown, card.cvc, named)


def billing_of(method: dict[str, Any] | None) -> dict[str, Any]:
    """Return the billing details that a request gives, empty if none.

    The domain of the e-mail address is an A-label from here on: an index finds it in any spelling.
    """
    given = (method or {}).get("billing_details") or {}
    return {**given, "email": reachable(given["email"])} if given.get("email") else given


def merged_billing(stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the details given with an earlier card, overwritten by those that are given now."""
    address = {**(stored.get("address") or {}), **(given.get("address") or {})}
    return {**stored, **given, **({"address": address} if address else {})}


def demands_authentication(shown_card: dict[str, Any], requested: str) -> bool:
    """Return whether card or merchant demand 3-D Secure, before the bank is asked (contract 10)."""
    return requested == "required" or bins.demand_authentication(shown_card)


def requested_authentication(options: dict[str, Any] | None) -> str | None:
    """Return what `payment_method_options[card][three_d_secure]` says, None if nothing."""
    return ((options or {}).get("card") or {}).get("three_d_secure")
