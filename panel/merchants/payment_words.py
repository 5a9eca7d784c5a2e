"""Texts about payments: the failure, the risk rules' finding, the authentication."""

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from payments.intents.models import PaymentIntent
from payments.intents.states import ModificationKind, PaymentStatus


class Reason(NamedTuple):
    """Why a payment failed, for the people of the shop.

    :param text: the fact; `advice` is what helps.
    :param codes: the API's code, and the bank's own.
    """

    text: Any
    advice: Any
    codes: tuple[str, ...]
    for_payer: str


class _Words(NamedTuple):
    text: Any
    advice: Any


_ANOTHER_CARD = _("Ask the payer for another card, or to call their bank.")
_NEVER_SAY = _("Do not tell the payer why, and do not try the card again: ask for another one.")
_TYPED_WRONG = _("Ask the payer to check what they typed, and to try again.")
_LATER = _("Nothing was charged. Try again later.")
_OTHER_KIND = _("The card is not made for such payments: ask for another one.")
# By `decline_code`, else by `code`, of `last_payment_error`.
DECLINES: dict[str, _Words] = {
    "generic_decline": _Words(_("The bank declined, and did not say why."), _ANOTHER_CARD),
    "do_not_honor": _Words(
        _("The bank does not accept the payment, and did not say why."), _ANOTHER_CARD
    ),
    "insufficient_funds": _Words(
        _("There is not enough money or limit on the card."),
        _("Ask for another card, or try again later."),
    ),
    "transaction_not_allowed": _Words(_("The bank does not allow such a payment."), _OTHER_KIND),
    "card_not_supported": _Words(_("The card does not support such a payment."), _OTHER_KIND),
    "service_not_allowed": _Words(_("The bank does not allow such a payment here."), _OTHER_KIND),
    "restricted_card": _Words(_("The bank has restricted the card."), _NEVER_SAY),
    "lost_card": _Words(_("The card was reported as lost."), _NEVER_SAY),
    "stolen_card": _Words(_("The card was reported as stolen."), _NEVER_SAY),
    "fraudulent": _Words(_("The bank takes the payment for fraud."), _NEVER_SAY),
    "fraud_blocked": _Words(
        _("It was blocked because of its risk; the bank charged nothing."),
        _("See the risk below. If you know the payer, ask for another card."),
    ),
    "incorrect_number": _Words(_("The card number is wrong."), _TYPED_WRONG),
    "incorrect_cvc": _Words(_("The security code is wrong."), _TYPED_WRONG),
    "expired_card": _Words(_("The card has expired."), _ANOTHER_CARD),
    "processing_error": _Words(_("The bank could not process the payment."), _LATER),
    "authentication_required": _Words(
        _("The bank wanted the payer to confirm the payment, and they could not be sent there."),
        _("Send a return_url with the payment, so that 3-D Secure can be used."),
    ),
    "authentication_failed": _Words(
        _("The payer did not confirm the payment at their bank, or the bank refused them."),
        _("Nothing was charged. Ask the payer to try again, or for another card."),
    ),
    "authentication_abandoned": _Words(
        _("The payer went to their bank and did not come back in time."),
        _("Nothing was charged. Ask the payer to try again."),
    ),
}
RULES: dict[str, Any] = {
    "block_list": _("The card or the e-mail is on a block list."),
    "card_velocity": _("The card was tried too often within an hour."),
    "card_declines": _("The card was declined too often within a day."),
    "email_velocity": _("The e-mail was used for too many tries within an hour."),
    "email_cards": _("Too many cards were tried with this e-mail within a day."),
    "card_testing": _("Many cards were being tried at your shop: the payer had to confirm."),
    "address_declines": _("Many cards were declined from the payer's network within an hour."),
    "amount": _("The amount is above your limit for a closer look."),
    "country_mismatch": _("The card's country is not the country of the billing address."),
    "block_highest_risk": _("The bank saw the highest risk."),
    "bank_warning": _("The bank warned that the payment is fraud."),
    "person": _("A person has looked at it and decided."),
}
LEVELS: dict[str, Any] = {
    "normal": _("Normal"), "elevated": _("Elevated"), "highest": _("Highest"),
}  # fmt: skip
VERDICTS: dict[str, Any] = {
    "pending": _("Not judged yet"), "clear": _("Nothing suspicious"),
    "review": _("Waits for a closer look"), "fraud": _("Taken for fraud"),
}  # fmt: skip
REQUESTED: dict[str, Any] = {
    "automatic": _("When it is needed"), "required": _("Always"), "none": _("Never"),
}  # fmt: skip
EFFECTIVE: dict[str, Any] = {
    "automatic": _("Not decided yet"), "required": _("The payer had to confirm"),
    "none": _("The payer was not asked"),
}  # fmt: skip
RESULTS: dict[str, Any] = {
    "authenticated": _("The payer confirmed"), "attempted": _("The bank vouched for the payer"),
    "failed": _("Not confirmed"),
}  # fmt: skip
CANCELLATIONS: dict[str, Any] = {
    "requested_by_customer": _("The customer asked for it"), "duplicate": _("Made twice"),
    "fraudulent": _("Fraud"), "abandoned": _("The customer gave up"),
    "expired": _("Not captured within seven days"),
}  # fmt: skip
MODIFICATIONS: dict[str, Any] = {
    ModificationKind.CAPTURE.value: _("Capture"),
    ModificationKind.VOID.value: _("Release of the authorised amount"),
    ModificationKind.FALL_BACK.value: _("Release, because the capture was refused"),
    ModificationKind.REVERSE.value: _("A charge that came too late was given back"),
}
FAILED_REFUNDS: dict[str, Any] = {
    "declined": _("The bank refused it."),
    "lost_or_stolen_card": _("The card was lost or stolen."),
    "expired_or_canceled_card": _("The card has expired or was canceled."),
    "insufficient_funds": _("It waited 30 days for your balance."),
    "charge_for_pending_refund_disputed": _("It waited, and a dispute left no room for it."),
    "unknown": _("The bank did not say why."),
}
REFUND_REASONS: dict[str, Any] = {
    name: CANCELLATIONS[name] for name in ("requested_by_customer", "duplicate", "fraudulent")
}
# The meaning of each status, and whether money has moved.
STANDINGS: dict[str, Any] = {
    PaymentStatus.REQUIRES_PAYMENT_METHOD.value: _(
        "Nothing was charged. Another card may be tried."
    ),
    PaymentStatus.REQUIRES_CONFIRMATION.value: _("It has a card, and waits until you confirm it."),
    PaymentStatus.REQUIRES_ACTION.value: _("The payer is at their bank, to confirm the payment."),
    PaymentStatus.PROCESSING.value: _(
        "The bank has not said yet how it ended. Do not charge again."
    ),
    PaymentStatus.REQUIRES_CAPTURE.value: _(
        "The bank holds the money until you capture or cancel."
    ),
    PaymentStatus.SUCCEEDED.value: _("The money was taken."),
    PaymentStatus.CANCELED.value: _("It was called off: nothing is charged any more."),
}


def reason_of(error: dict[str, Any] | None, bank_text: str | None = None) -> Reason | None:
    """Return why an attempt failed, None without an error.

    :param error: as `last_payment_error` shows it.
    :param bank_text: the bank's own text of its answer.
    """
    if not error:
        return None
    code, decline = error.get("code") or "", error.get("decline_code") or ""
    # `fraud_blocked` is the more specific of the two; of all others the decline code is.
    name = code if code == "fraud_blocked" or decline not in DECLINES else decline
    words = DECLINES.get(name) or DECLINES["generic_decline"]
    banks = " ".join(part for part in (error.get("network_decline_code"), bank_text) if part)
    codes = dict.fromkeys(one for one in (code, decline, banks) if one)
    return Reason(words.text, words.advice, tuple(codes), error.get("message") or "")


def standing(payment: PaymentIntent) -> Any:
    """Return what a payment's status means; nothing for one that is not known here."""
    return STANDINGS.get(payment.status, "")


# By the API's code, why a room below refused, for people who look at the page as it is now.
REFUSALS: dict[str, Any] = {
    "payment_intent_unexpected_state": _(
        "The payment has changed meanwhile, and does not allow this now. Nothing was done."
    ),
    "amount_too_large": _("This is more than there is."),
    "partial_capture_not_allowed": _("A payment in installments is captured whole."),
    "capture_expired": _("The bank holds the money for seven days, and they are over."),
    "cancel_failed": _("The bank refused to release the money; it holds it as before."),
    "payment_already_refunded": _("All of it has been refunded."),
    "payment_disputed": _("What is left of it is disputed at the bank."),
    "lock_timeout": _("The bank is being asked about this payment right now. Try again shortly."),
    "upstream_unavailable": _("The bank cannot be reached; nothing was done. Try again later."),
    "merchant_restricted": _("Your account does not allow this now. Ask us why."),
}
