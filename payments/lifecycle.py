"""A payment's way through the bank: an attempt is written, the bank asked, its answer applied.

No transaction is open while the bank works. What a crash leaves behind is an open
attempt, whose reference the bank knows.
"""

from dataclasses import dataclass, field
from typing import Any, NoReturn

import structlog
from django.db import DatabaseError, connection, transaction

from core import clock, context, ids
from core.errors import InternalError, LockTimeout, ParameterMissing
from merchants import accounts, idempotency, sites
from merchants.models import Merchant
from payments import gateways, inquiries, intents, methods, settlement
from payments.gateways.base import Answer, AuthorizationRequest, Outcome
from payments.methods import OfferedCard
from payments.models import Attempt, PaymentIntent
from payments.refusals import IntentUnexpectedState
from payments.states import CONFIRMABLE, Status
from vault import cards as vault_cards
from vault import cvc as vault_cvc

log = structlog.get_logger(__name__)

CVC_PARAM = "payment_method_data[card][cvc]"


@dataclass(frozen=True, slots=True)
class Terms:
    """What one attempt is made with, checked before anything is stored.

    :param card: the card as the API shows it.
    """

    card: dict[str, Any]
    cvc: str | None = field(repr=False)
    billing: dict[str, Any] = field(repr=False)
    return_url: str | None
    requested: str

    @property
    def authentication_demanded(self) -> bool:
        return methods.demands_authentication(self.card, self.requested)


def create(merchant: Merchant, draft: dict[str, Any]) -> PaymentIntent:
    """Create a payment; with `confirm`, charge it at once or learn why not.

    :param draft: what `CreateIntentForm` validated.
    :raises DomainError: contract 4's refusals; nothing is stored then.
    """
    accounts.require_charges(merchant)
    intents.check(merchant, draft)
    if draft.get("return_url"):
        sites.require_return_url(merchant, draft["return_url"])
    method = draft.get("payment_method_data")
    billing = methods.billing_of(method)
    offered = methods.accept(merchant, method["card"], billing) if method else None
    if draft.get("confirm"):
        return _create_and_confirm(merchant, draft, offered)
    intent_id = ids.new("pi")
    with transaction.atomic(durable=True):
        idempotency.take(intent_id)
        intent = intents.add(merchant, intent_id, draft, offered)
    if offered:
        # After the commit: Redis is another machine.
        vault_cvc.hold(intent.sealed_card_id, offered.data.cvc)
    return intent


def _create_and_confirm(
    merchant: Merchant, draft: dict[str, Any], offered: OfferedCard | None
) -> PaymentIntent:
    gateways.acquirer()
    if offered is None:
        raise ParameterMissing(param="payment_method_data")
    terms = Terms(
        card=offered.shown,
        cvc=offered.data.cvc,
        billing=methods.billing_of(draft["payment_method_data"]),
        return_url=draft.get("return_url"),
        requested=_requested(draft) or "automatic",
    )
    _require_complete(terms)
    intent_id = ids.new("pi")
    with transaction.atomic(durable=True):
        idempotency.take(intent_id, is_settled=False)
        intent = intents.add(merchant, intent_id, draft, offered)
        attempt = _open_attempt(intent, terms)
    return _ask_bank(attempt, terms)


def confirm(merchant: Merchant, intent_id: str, confirmation: dict[str, Any]) -> PaymentIntent:
    """Charge a payment's card, the one given now or the one stored with it.

    :param confirmation: what `ConfirmIntentForm` validated.
    :raises IntentUnexpectedState: the payment does not wait for a card.
    :raises LockTimeout: its bank is being asked already.
    :raises DomainError: contract 4's refusals; nothing is stored then.
    """
    accounts.require_charges(merchant)
    gateways.acquirer()
    intents.require_installments(confirmation.get("installments"))
    if confirmation.get("return_url"):
        sites.require_return_url(merchant, confirmation["return_url"])
    intent = PaymentIntent.objects.for_merchant(merchant).find(intent_id)
    if not _is_confirmable(intent):
        _refuse_on_locked_row(merchant, intent_id)
    terms, offered = _confirmed_terms(merchant, intent, confirmation)
    attempt = _open_confirmed(merchant, intent.id, offered=offered, terms=terms)
    if intent.sealed_card_id:
        # Used now, or replaced by the card given now; never again.
        vault_cvc.drop(intent.sealed_card_id)
    return _ask_bank(attempt, terms)


def _confirmed_terms(
    merchant: Merchant, intent: PaymentIntent, confirmation: dict[str, Any]
) -> tuple[Terms, OfferedCard | None]:
    method = confirmation.get("payment_method_data") or {}
    billing = methods.merged_billing(intent.billing_details, methods.billing_of(method))
    offered = methods.accept(merchant, method["card"], billing) if method.get("card") else None
    _require_card(intent, offered, param="payment_method_data" + ("[card]" if method else ""))
    stored_cvc = None if offered else vault_cvc.look(intent.sealed_card_id)
    terms = Terms(
        card=offered.shown if offered else intent.card,
        cvc=offered.data.cvc if offered else stored_cvc,
        billing=billing,
        return_url=confirmation.get("return_url") or intent.return_url,
        requested=_requested(confirmation) or intent.three_d_secure_requested,
    )
    _require_complete(terms)
    return terms, offered


@transaction.atomic(durable=True)
def _open_confirmed(
    merchant: Merchant, intent_id: str, *, offered: OfferedCard | None, terms: Terms
) -> Attempt:
    idempotency.take(intent_id, is_settled=False)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(intent_id)
    _require_confirmable(intent)
    # Again, for another confirm may have used up the stored card, and its code, since our look.
    _require_card(intent, offered, param="payment_method_data")
    if terms.cvc is None or (offered is None and intent.sealed_card.is_destroyed):
        raise ParameterMissing(param=CVC_PARAM)
    if offered:
        intent.sealed_card = vault_cards.seal(merchant.id, offered.data, now=clock.now())
    intent.billing_details = terms.billing
    intent.save(update_fields=["sealed_card", "billing_details"])
    return _open_attempt(intent, terms)


@transaction.atomic(durable=True)
def _refuse_on_locked_row(merchant: Merchant, intent_id: str) -> NoReturn:
    """Refuse a payment that does not wait for a card, for good: a retry hears it again."""
    idempotency.take(intent_id)
    _require_confirmable(PaymentIntent.objects.for_merchant(merchant).lock(intent_id))
    raise LockTimeout  # It has come to wait for one this moment.


def _require_confirmable(intent: PaymentIntent) -> None:
    if not _is_confirmable(intent):
        raise IntentUnexpectedState(intent)
    intents.refuse_in_flight(intent)


def _is_confirmable(intent: PaymentIntent) -> bool:
    return intent.status in CONFIRMABLE


def _require_card(intent: PaymentIntent, offered: OfferedCard | None, *, param: str) -> None:
    if offered is None and intent.status != Status.REQUIRES_CONFIRMATION:
        raise ParameterMissing(param=param)


def _requested(body: dict[str, Any]) -> str | None:
    return methods.requested_authentication(body.get("payment_method_options"))


def _require_complete(terms: Terms) -> None:
    methods.require_billing(terms.billing)
    if terms.authentication_demanded and not terms.return_url:
        raise ParameterMissing(param="return_url")


def _open_attempt(intent: PaymentIntent, terms: Terms) -> Attempt:
    # Committed before the bank is called, so that a crash leaves a trace to follow.
    now = clock.now()
    return Attempt.objects.create(
        id=ids.new("att"),
        merchant_id=intent.merchant_id,
        intent=intent,
        acquirer_reference=ids.new("ref"),
        amount=intent.amount,
        currency=intent.currency,
        installments=intent.installments,
        capture_method=intent.capture_method,
        sealed_card=intent.sealed_card,
        card=terms.card,
        return_url=terms.return_url,
        three_d_secure_requested=terms.requested,
        authentication_demanded=terms.authentication_demanded,
        request_id=context.request_id(),
        created_at=now,
        lease_until=inquiries.lease_end(),
        asked_at=now,
        next_inquiry_at=now,
    )


def _ask_bank(attempt: Attempt, terms: Terms) -> PaymentIntent:
    context.mark_irrevocable()  # An attempt is written, and the bank may do its part.
    with inquiries.lease_given_back(attempt):
        if attempt.authentication_demanded:
            # Never a fall-back to a payment without authentication.
            return settle_surely(attempt, Outcome(Answer.AUTHENTICATION_REQUIRED))
        return settle_surely(attempt, authorize(attempt, terms.cvc))


def authorize(attempt: Attempt, cvc: str | None) -> Outcome:
    """Ask the bank for an attempt's money, whose lease the caller holds."""
    request = AuthorizationRequest(
        reference=attempt.acquirer_reference,
        merchant_id=attempt.merchant_id,
        amount=attempt.amount + attempt.surcharge,
        currency=attempt.currency,
        capture=attempt.capture_method == PaymentIntent.CaptureMethod.AUTOMATIC,
        sealed=attempt.sealed_card,
        cvc=cvc,
    )
    return gateways.acquirer().authorize(request)


def settle_surely(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Settle; try once more if the database fails, for the card may be charged already."""
    try:
        return settlement.settle(attempt, outcome)
    except DatabaseError:
        log.warning("settlement tried again", attempt=attempt.id)
        # Otherwise a lost connection stays lost until the next request.
        connection.close_if_unusable_or_obsolete()
    if context.remaining_seconds() <= 0:
        raise InternalError
    return settlement.settle(attempt, outcome)
