"""The session and the payment that a body asks for, checked before anything is stored."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from core import clock, ids
from core.errors import ParameterInvalid
from core.metadata import merge
from core.names import email_key
from core.rest.list_query import ParametersExclusive
from merchants import sites
from merchants.models import Merchant
from merchants.sites import ReturnUrlNotAllowed
from payments.checkout.models import INSTALLMENTS_MAX, CheckoutSession
from payments.checkout.states import Authentication, Locale

PLACEHOLDER = "{CHECKOUT_SESSION_ID}"
# Scheme, host and port: an address may not choose them by the session's id.
ORIGIN = re.compile(r"[^/?#]*(?://[^/?#]*)?")
LIVES = timedelta(hours=24)
LIVES_AT_LEAST, LIVES_AT_MOST = timedelta(minutes=5), timedelta(days=30)


def session_of(merchant: Merchant, draft: dict[str, Any]) -> CheckoutSession:
    """Return a session that is not stored yet, and has no payment yet.

    :param draft: a body that `CreateSessionForm` has validated.
    :raises ReturnUrlNotAllowed: one of its addresses; `param` is its name.
    :raises ParameterInvalid: it ends too early or too late.
    :raises ParametersExclusive: two e-mail addresses.
    """
    session_id, now = ids.new("cs"), clock.now()
    for name in ("success_url", "cancel_url"):
        if draft.get(name):
            _require_address(merchant, draft[name], session_id, param=name)
    card = (draft.get("payment_method_options") or {}).get("card") or {}
    return CheckoutSession(
        id=session_id,
        merchant=merchant,
        success_url=draft.get("success_url"),
        cancel_url=draft.get("cancel_url"),
        locale=draft.get("locale") or Locale.AUTO,
        client_reference_id=draft.get("client_reference_id"),
        customer_id=draft.get("customer"),
        billing_details=_billing(draft),
        three_d_secure=card.get("three_d_secure") or Authentication.AUTOMATIC,
        installments_max=_installments_max(card.get("installments") or {}),
        metadata=merge({}, draft.get("metadata")),
        expires_at=_expires_at(draft.get("expires_at"), now),
        created_at=now,
    )


def payment_of(draft: dict[str, Any]) -> dict[str, Any]:
    """Return the draft of the payment that a session makes, as `charging.intents` takes it."""
    options = draft.get("payment_method_options") or {}
    return {
        **(draft.get("payment_intent_data") or {}),
        "amount": draft["amount"],
        "currency": draft["currency"],
        "line_items": draft.get("line_items"),
        "customer": draft.get("customer"),
        "payment_method_options": options,
    }


def with_id(address: str, session_id: str) -> str:
    """Return a shop's address with the session's id in the place of its placeholder."""
    return address.replace(PLACEHOLDER, session_id)


def _require_address(merchant: Merchant, address: str, session_id: str, *, param: str) -> None:
    origin = ORIGIN.match(address)
    if origin and PLACEHOLDER in origin[0]:
        message = "The session's id may stand in the path, the query and the fragment."
        raise ReturnUrlNotAllowed(message, param=param)
    try:
        sites.require_return_url(merchant, with_id(address, session_id))
    except ReturnUrlNotAllowed as refused:
        raise ReturnUrlNotAllowed(refused.text, param=param) from None


def _expires_at(given: int | None, now: datetime) -> datetime:
    if given is None:
        return now + LIVES
    # By whole seconds, as the API shows them.
    lives = timedelta(seconds=given - clock.unix(now))
    if not LIVES_AT_LEAST <= lives <= LIVES_AT_MOST:
        message = "Must be between 5 minutes and 30 days from now."
        raise ParameterInvalid(message, param="expires_at")
    return datetime.fromtimestamp(given, UTC)


def _billing(draft: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the payer; the e-mail address may be given in either place."""
    details: dict[str, Any] = draft.get("billing_details") or {}
    given, known = draft.get("customer_email"), details.get("email")
    if given and known and email_key(given) != email_key(known):
        message = "Give one e-mail address."
        raise ParametersExclusive(message, param="customer_email")
    return {**details, "email": given} if given else details


def _installments_max(asked: dict[str, Any]) -> int:
    if asked.get("enabled") is False:
        return 1
    return asked.get("max") or INSTALLMENTS_MAX
