"""A payment's way through the bank: an attempt is written, the bank asked, its answer applied.

No transaction is open while the bank works. What a crash leaves behind is an open
attempt, whose reference the bank knows.
"""

from dataclasses import dataclass, field
from typing import Any, NoReturn

from django.db import transaction

from core import clock, context, ids
from core.errors import LockTimeout, ParameterMissing
from merchants import accounts, idempotency, sites
from merchants.models import Merchant
from payments import (
    authentication,
    authorization,
    gateways,
    intents,
    leases,
    methods,
    non_secure,
    settlement,
)
from payments.gateways import slots
from payments.gateways.base import Answer, Outcome
from payments.methods import OfferedCard
from payments.models import Attempt, PaymentIntent
from payments.refusals import IntentUnexpectedState
from payments.states import CONFIRMABLE, AttemptStatus, Status
from vault import cards as vault_cards
from vault import cvc as vault_cvc

# Its stored card may be used once more, while the card's code is held.
HAS_A_CARD = (Status.REQUIRES_CONFIRMATION, Status.REQUIRES_ACTION)
CVC_PARAM = "payment_method_data[card][cvc]"
# A confirm decides on these before it locks the payment: card, demand, 3-D Secure, billing. On the
# locked row they must be the same, or one card would be charged on another's terms.
DECIDED_ON = (
    "status", "attempt_ids", "sealed_card_id", "card", "billing_details", "return_url",
    "three_d_secure_requested", "installments",
)  # fmt: skip


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


@slots.in_a_slot
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


@slots.in_a_slot
def confirm(merchant: Merchant, intent_id: str, confirmation: dict[str, Any]) -> PaymentIntent:
    """Charge a payment's card, the one given now or the one stored with it.

    :param confirmation: what `ConfirmIntentForm` validated.
    :raises IntentUnexpectedState: the payment does not wait for a card.
    :raises LockTimeout: its bank is being asked already, or another request has changed what
        this one decided on.
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
    if intent.status == Status.REQUIRES_ACTION and (paid := _paid_meanwhile(intent)):
        return paid
    attempt = _open_confirmed(merchant, intent, offered=offered, terms=terms)
    if intent.sealed_card_id:
        # Used now, or replaced by the card given now; never again.
        vault_cvc.drop(intent.sealed_card_id)
    return _ask_bank(attempt, terms)


def _paid_meanwhile(intent: PaymentIntent) -> PaymentIntent | None:
    """Ask the bank about the attempt that awaits its payer, before another takes its place.

    :returns: the payment, charged or unknown; None if nothing was charged.
    :raises LockTimeout: somebody else is asking the bank about it this moment.
    """
    awaiting = intent.attempts.filter(status=AttemptStatus.REQUIRES_ACTION).first()
    if awaiting is None:
        return None
    with leases.held(awaiting) as attempt:
        outcome = gateways.acquirer().inquire(attempt.acquirer_reference)
        if outcome.answer not in (Answer.APPROVED, Answer.UNKNOWN, Answer.PENDING):
            return None
        settled = settlement.surely(attempt, lambda: settlement.settle(attempt, outcome))
    # Not before: the retry of a confirm that dies has to be a confirm.
    with transaction.atomic(durable=True):
        idempotency.take(intent.id)
    return settled


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
    merchant: Merchant, seen: PaymentIntent, *, offered: OfferedCard | None, terms: Terms
) -> Attempt:
    """Write the attempt down; `seen` is the payment as it was read for its terms."""
    idempotency.take(seen.id, is_settled=False)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(seen.id)
    _require_confirmable(intent)
    _require_unchanged(intent, seen)
    if terms.cvc is None or (offered is None and intent.sealed_card.is_destroyed):
        raise ParameterMissing(param=CVC_PARAM)
    if offered:
        intent.sealed_card = vault_cards.seal(merchant.id, offered.data, now=clock.now())
    intent.billing_details = terms.billing
    intent.save(update_fields=["sealed_card", "billing_details"])
    intents.give_up_action(intent)
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


def _require_unchanged(intent: PaymentIntent, seen: PaymentIntent) -> None:
    if any(getattr(intent, name) != getattr(seen, name) for name in DECIDED_ON):
        raise LockTimeout


def _is_confirmable(intent: PaymentIntent) -> bool:
    return intent.status in CONFIRMABLE


def _require_card(intent: PaymentIntent, offered: OfferedCard | None, *, param: str) -> None:
    if offered is None and intent.status not in HAS_A_CARD:
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
        authentication_demanded=_demand_of(intent, terms),
        request_id=context.request_id(),
        created_at=now,
        lease_until=leases.end(),
        asked_at=now,
        due_at=now,
    )


def _demand_of(intent: PaymentIntent, terms: Terms) -> bool:
    """Tell whether the payer must authenticate, now that the payment is locked.

    :raises NonSecureNotAllowed: the merchant asked for none, and may not.
    :raises ParameterMissing: there would be nowhere to come back to.
    """
    if terms.authentication_demanded:
        return True
    if non_secure.is_allowed(intent.merchant, amount=intent.amount, currency=intent.currency):
        return False
    if terms.requested == "none":
        raise non_secure.NonSecureNotAllowed
    if not terms.return_url:
        raise ParameterMissing(param="return_url")
    return True


def _ask_bank(attempt: Attempt, terms: Terms) -> PaymentIntent:
    context.mark_irrevocable()  # An attempt is written, and the bank may do its part.
    return pursue(attempt, cvc=terms.cvc)


def pursue(attempt: Attempt, *, cvc: str | None) -> PaymentIntent:
    """Get the attempt's money, or its payer to the bank; the caller holds the lease."""
    with leases.given_back(attempt):
        if attempt.authentication_demanded:
            # Never a fall-back to a payment without authentication.
            return authentication.begin(attempt, cvc)
        return conclude(attempt, authorization.authorize(attempt, cvc=cvc), cvc=cvc)


def conclude(attempt: Attempt, outcome: Outcome, *, cvc: str | None) -> PaymentIntent:
    """Settle what the bank said; after a soft decline, send the payer there, if they can return."""
    is_soft = outcome.answer is Answer.AUTHENTICATION_REQUIRED and attempt.return_url
    if is_soft and not attempt.authentication_demanded:
        successor = settlement.surely(attempt, lambda: authentication.begin_anew(attempt, outcome))
        if successor:
            return pursue(successor, cvc=cvc)
    return settlement.surely(attempt, lambda: settlement.settle(attempt, outcome))
