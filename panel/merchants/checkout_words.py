"""Texts about payment pages: how one stands, why it ended, and why an act was refused."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from panel.merchants.payment_words import REFUSALS as OF_PAYMENTS
from payments.checkout.models import INSTALLMENTS_MAX, CheckoutSession
from payments.checkout.states import Authentication, ExpirationReason, Locale, SessionStatus

STANDINGS: dict[str, Any] = {
    SessionStatus.OPEN.value: _("Whoever has the link can pay."),
    SessionStatus.COMPLETE.value: _("The payment was made."),
    SessionStatus.EXPIRED.value: _("The link takes no payment any more."),
}
REASONS: dict[str, Any] = {
    ExpirationReason.TIME.value: _("Its time was over."),
    ExpirationReason.API.value: _("It was ended in the panel or by the API."),
    ExpirationReason.TOO_MANY_TRIES.value: _("Too many tries failed."),
    ExpirationReason.PAYMENT_CANCELED.value: _("Its payment was canceled."),
}
LANGUAGES: dict[str, Any] = {
    Locale.AUTO.value: _("That of the payer's browser"),
    Locale.TURKISH.value: "Türkçe",
    Locale.ENGLISH.value: "English",
}
AUTHENTICATIONS: dict[str, Any] = {
    Authentication.AUTOMATIC.value: _("When it is needed"),
    Authentication.REQUIRED.value: _("Always"),
}
PAYER_IS_PAYING = _("The payer is paying this moment. Wait until that has ended.")
HAS_ENDED = _("It has ended already.")
# By the API's code, why a room below refused.
REFUSALS: dict[str, Any] = {
    "merchant_restricted": OF_PAYMENTS["merchant_restricted"],
    "payment_intent_unexpected_state": OF_PAYMENTS["payment_intent_unexpected_state"],
    "checkout_session_unexpected_state": _(
        "The payment page has changed meanwhile, and does not allow this now. Nothing was done."
    ),
    "amount_too_large": _("No payment may be so large."),
    "lock_timeout": _("It is being changed right now. Try again shortly."),
}


def standing(session: CheckoutSession) -> Any:
    """Return what a session's status means; for one that expired the reason."""
    return REASONS.get(session.expiration_reason or "") or STANDINGS.get(session.status, "")


def installments(session: CheckoutSession) -> Any:
    """Return what a session's page offers."""
    most = session.installments_max
    if most == 1:
        return _("Not offered")
    return _("As your plans say") if most == INSTALLMENTS_MAX else _("Up to %d") % most
