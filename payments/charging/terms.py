"""The terms of an attempt: its card, its billing details, its way back and its 3-D Secure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.conf import settings

from core.errors import ParameterMissing
from merchants.models import Merchant
from payments.bank import payer_addresses
from payments.bank.payer_addresses import PayerAddress
from payments.charging import methods
from payments.charging.installments import Wish, wish_of
from payments.charging.methods import OfferedCard
from payments.intents.forms import lacking_billing, lacking_method
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus
from vault import cvc as vault_cvc

# In these a payment has a card. A confirm may use it while its security code is held, for the first
# attempt alone: with another one `requires_action` asks for the card again.
HAS_A_CARD = (PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.REQUIRES_ACTION)

RETURN_URL = "3-D Secure brings the payer back to return_url, so send it whenever that may happen."
ASKED_FOR = "payment_method_options[card][three_d_secure] demands 3-D Secure."
DEBIT = "A domestic debit card always needs 3-D Secure."


class Press(NamedTuple):
    """A confirm by a payer, on a page of the service.

    :param agree: is called with the locked payment before its attempt is written, in the same
        transaction; it refuses the attempt, or writes down what the page counts.
    :param network: the payer's (`core.limits.network_of`), None if it is not known.
    """

    agree: Callable[[PaymentIntent], None]
    network: str | None = None


@dataclass(frozen=True, slots=True)
class ChargeTerms:
    """The terms of one attempt, checked before anything is stored.

    :param card: the card as the API shows it.
    :param requested: the merchant's wish for 3-D Secure: `automatic`, `required` or `none`.
    :param wish: for installments; decided on the locked payment.
    :param network: the payer's, None if the merchant's server asks.
    :param payer: the address that the bank gets; no rule of risk looks at it.
    """

    card: dict[str, Any]
    cvc: str | None = field(repr=False)
    billing: dict[str, Any] = field(repr=False)
    return_url: str | None
    requested: str
    wish: Wish
    network: str | None = field(default=None, repr=False)
    payer: PayerAddress = field(default=PayerAddress(), repr=False)

    @property
    def authentication_demanded(self) -> bool:
        return methods.demands_authentication(self.card, self.requested)


def terms_of_draft(draft: dict[str, Any], offered: OfferedCard) -> ChargeTerms:
    """Return the terms of a payment that is created and confirmed in one call.

    :raises ParameterMissing: billing details or a return URL that the bank needs.
    """
    terms = ChargeTerms(
        card=offered.shown,
        cvc=offered.cvc,
        billing=methods.billing_of(draft["payment_method_data"]),
        return_url=draft.get("return_url"),
        requested=_requested(draft) or "automatic",
        wish=wish_of(draft),
        payer=payer_addresses.of_request(draft.get("payer_ip")),
    )
    _require_complete(terms)
    return terms


def terms_of_confirmation(
    merchant: Merchant,
    intent: PaymentIntent,
    confirmation: dict[str, Any],
    *,
    press: Press | None = None,
) -> tuple[ChargeTerms, OfferedCard | None]:
    """Return the terms of a confirm, and the card that it brings, None for the stored one.

    :param intent: the payment as it was read, unlocked.
    :param confirmation: its card may be one that was accepted before.
    :raises ParameterMissing: a card, billing details or a return URL that the bank needs.
    :raises CardNotSupported: the acquirer does not take the number.
    :raises UpstreamUnavailable: there is no acquirer.
    """
    method = confirmation.get("payment_method_data") or {}
    billing = methods.merged_billing(intent.billing_details, methods.billing_of(method))
    card, currency = method.get("card"), intent.currency
    offered = card if isinstance(card, OfferedCard) else None
    if card and offered is None:
        offered = methods.accept(merchant, card, billing, currency=currency)
    if offered is None and intent.status not in HAS_A_CARD:
        param = "payment_method_data" + ("[card]" if method else "")
        lacking = lacking_method(billing, *(("card",) if method else ()))
        raise ParameterMissing(param=param, lacking=lacking, advice=RETURN_URL)
    terms = ChargeTerms(
        card=offered.shown if offered else intent.card,
        cvc=offered.cvc if offered else _held_cvc(intent),
        billing=billing,
        return_url=confirmation.get("return_url") or _own_return_url(intent),
        requested=_requested(confirmation) or intent.three_d_secure_requested,
        wish=wish_of(confirmation),
        network=press.network if press else None,
        payer=payer_addresses.of_request(
            confirmation.get("payer_ip"), is_at_our_page=press is not None
        ),
    )
    _require_complete(terms)
    return terms, offered


def _own_return_url(intent: PaymentIntent) -> str | None:
    """Return the return URL that a confirm need not repeat.

    The way back to a page of the service is of the press alone that has brought it.
    """
    is_of_a_page = (intent.return_url or "").startswith(f"{settings.BASE_URL}/")
    return None if intent.checkout_session and is_of_a_page else intent.return_url


def _held_cvc(intent: PaymentIntent) -> str | None:
    # A code was given for one attempt. Redis may still have it: it was away as it was to forget it.
    if intent.sealed_card_id is None or intent.status != PaymentStatus.REQUIRES_CONFIRMATION:
        return None
    return vault_cvc.look(intent.sealed_card_id)


def _requested(body: dict[str, Any]) -> str | None:
    return methods.requested_authentication(body.get("payment_method_options"))


def _require_complete(terms: ChargeTerms) -> None:
    """Refuse terms that lack what the bank asks for, and name all of it."""
    lacking, reason = [*lacking_billing(terms.billing)], ""
    if terms.authentication_demanded and not terms.return_url:
        lacking, reason = [*lacking, "return_url"], _reason_for_return_url(terms)
    if lacking:
        raise ParameterMissing(param=lacking[0], lacking=tuple(lacking), advice=reason)


def _reason_for_return_url(terms: ChargeTerms) -> str:
    is_asked_for = terms.requested == "required"
    return f"{ASKED_FOR if is_asked_for else DEBIT} {RETURN_URL}"
