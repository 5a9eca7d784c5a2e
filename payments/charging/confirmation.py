"""Confirmation of a payment: an attempt is written, the bank asked, its answer applied.

No transaction is open while the bank works. A crash leaves an open attempt behind: the sweeper
asks the bank about its reference.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, NoReturn

from django.db import transaction

import acquirers
from acquirers import exchanges, references, routing, slots, standings
from acquirers.conversation import leases, settling
from acquirers.conversation.models import begun
from acquirers.conversation.settling import Ask
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Outcome
from acquirers.routing import Payment
from api import idempotency
from core import clock, context, ids, rows
from core.errors import LockTimeout, NotSetUp, ParameterMissing
from ledger import accounts as ledger_accounts
from merchants import accounts, sites
from merchants.models import Merchant
from payments.bank import attempts, authorization, inquiries, payer_addresses
from payments.bank.orders import order_of
from payments.charging import installments, intents, methods, risk_gate
from payments.charging.installments import ChosenPlan
from payments.charging.methods import OfferedCard
from payments.charging.terms import (
    RETURN_URL,
    ChargeTerms,
    Press,
    terms_of_confirmation,
    terms_of_draft,
)
from payments.intents import non_secure
from payments.intents.forms import lacking_method
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import CONFIRMABLE, OPEN_ATTEMPT, AttemptStatus, PaymentStatus
from payments.payer import three_d_secure
from vault import cvc as vault_cvc

CHARGED_OR_UNKNOWN = (
    PaymentStatus.SUCCEEDED,
    PaymentStatus.REQUIRES_CAPTURE,
    PaymentStatus.PROCESSING,
)
CVC_PARAM = "payment_method_data[card][cvc]"
CVC_ADVICE = "A card's security code is kept for one attempt, so send the whole card again."
# A confirm decides on these before it locks the payment: card, demand, 3-D Secure, billing. On the
# locked row they must be the same, or one card would be charged on another's terms.
DECIDED_ON = (
    "status", "currency", "attempt_ids", "sealed_card_id", "card", "billing_details", "return_url",
    "three_d_secure_requested", "installments",
)  # fmt: skip


class Asked(NamedTuple):
    """The bank's answer about the attempt that awaits its payer.

    :param paid: the payment, charged or unknown; None if nothing was charged.
    """

    attempt: Attempt
    outcome: Outcome
    paid: PaymentIntent | None = None


class Confirmed(NamedTuple):
    """A payment that is about to have an attempt.

    :param seen: the payment as it was read, unlocked, when the terms were decided.
    :param asked: the answer about the attempt that is replaced, which is written down with it.
    """

    seen: PaymentIntent
    asked: Asked | None
    press: Press | None


def create(merchant: Merchant, draft: dict[str, Any]) -> PaymentIntent:
    """Create a payment; with `confirm`, charge its card in the same call.

    :param draft: a body that `CreateIntentForm` has validated.
    :raises DomainError: contract 4's refusals; nothing is stored then.
    """
    accounts.require_charges(merchant)
    intents.check(merchant, draft)
    if draft.get("return_url"):
        sites.require_return_url(merchant, draft["return_url"])
    method = draft.get("payment_method_data")
    billing = methods.billing_of(method)
    card, currency = method["card"] if method else None, draft["currency"]
    offered = methods.accept(merchant, card, billing, currency=currency) if card else None
    if offered and draft.get("payer_ip"):
        offered = replace(offered, payer_ip=draft["payer_ip"])
    if draft.get("confirm"):
        return _create_and_confirm(merchant, draft, offered)
    shown, wish = offered.shown if offered else None, installments.wish_of(draft)
    installments.check(merchant, shown, wish, amount=draft["amount"], currency=currency)
    intent_id = ids.new("pi")
    with transaction.atomic(durable=True):
        idempotency.take(intent_id)
        intent = intents.add(merchant, intent_id, draft, offered)
    token, cvc = intent.sealed_card_id, offered.cvc if offered else None
    if token and cvc:
        # After the commit: Redis is another machine.
        vault_cvc.hold(token, cvc)
    return intent


@slots.in_a_slot
def _create_and_confirm(
    merchant: Merchant, draft: dict[str, Any], offered: OfferedCard | None
) -> PaymentIntent:
    if offered is None:
        lacking = lacking_method({})
        raise ParameterMissing(param="payment_method_data", lacking=lacking, advice=RETURN_URL)
    terms = terms_of_draft(draft, offered)
    offered = replace(offered, payer_ip=terms.payer.ip)
    ledger_accounts.ensure(merchant.id, draft["currency"])
    non_secure.begin_day(merchant, draft["currency"])
    intent_id = ids.new("pi")
    with transaction.atomic(durable=True):
        idempotency.take(intent_id, is_finished=False)
        intent = intents.add(merchant, intent_id, draft, offered)
        attempt = _open_attempt(merchant, intent, terms)
    return _ask_bank(attempt, terms)


@slots.in_a_slot
def confirm(
    merchant: Merchant,
    intent_id: str,
    confirmation: dict[str, Any],
    *,
    press: Press | None = None,
) -> PaymentIntent:
    """Charge a payment's card, the one given now or the one stored with it.

    :param confirmation: a body that `ConfirmIntentForm` has validated.
    :param press: of a page of the service, which brings a return URL of its own.
    :raises IntentUnexpectedState: the payment does not wait for a card.
    :raises LockTimeout: its bank is being asked already, or another request has changed the
        payment since this one read it.
    :raises DomainError: contract 4's refusals; nothing is stored then.
    """
    accounts.require_charges(merchant)
    if confirmation.get("return_url") and press is None:
        sites.require_return_url(merchant, confirmation["return_url"])
    intent = intents.find(merchant, intent_id)
    routing.routes_of(merchant).require_open(intent.currency)
    if not _is_confirmable(intent):
        _refuse_on_locked_row(merchant, intent_id)
    terms, offered = terms_of_confirmation(merchant, intent, confirmation, press=press)
    if offered:
        offered = replace(offered, payer_ip=terms.payer.ip)
    ledger_accounts.ensure(merchant.id, intent.currency)
    non_secure.begin_day(merchant, intent.currency)
    asked = _asked_meanwhile(intent) if intent.status == PaymentStatus.REQUIRES_ACTION else None
    if asked and asked.paid:
        vault_cvc.drop(asked.attempt.id)  # The bank has it, or nobody will bring it there.
        return asked.paid
    confirmed = Confirmed(intent, asked, press)
    attempt = _open_confirmed(merchant, confirmed, offered=offered, terms=terms)
    if asked:
        vault_cvc.drop(asked.attempt.id)  # Its payer can no longer go to the bank.
    if intent.sealed_card_id:
        # Used now, or replaced by the card given now; never again.
        vault_cvc.drop(intent.sealed_card_id)
    return _ask_bank(attempt, terms)


def _asked_meanwhile(intent: PaymentIntent) -> Asked | None:
    """Ask the bank about the attempt that awaits its payer, before another attempt replaces it.

    Otherwise a payer who has just paid would be charged twice.

    :returns: None if no attempt awaits its payer.
    """
    awaiting = intent.attempts.filter(status=AttemptStatus.REQUIRES_ACTION).first()
    if awaiting is None:
        return None
    with leases.held(awaiting) as attempt:
        outcome = standings.authorization(acquirers.of(attempt).inquire(order_of(attempt)))
        if outcome.answer not in (Answer.APPROVED, Answer.UNKNOWN, Answer.PENDING):
            return Asked(attempt, outcome)
        ended = settling.apply_with_retry(
            attempt, lambda: settling.settle(attempts.KIND, attempt, outcome, goes_on=True)
        )
    resolved = ended.row.intent
    if resolved.status not in CHARGED_OR_UNKNOWN:
        raise LockTimeout
    # Claimed only now: if this request dies earlier, its retry must confirm anew.
    with transaction.atomic(durable=True):
        idempotency.take(intent.id)
    return Asked(attempt, outcome, resolved)


@transaction.atomic(durable=True)
def _open_confirmed(
    merchant: Merchant, confirmed: Confirmed, *, offered: OfferedCard | None, terms: ChargeTerms
) -> Attempt:
    """Write the attempt down, in one transaction with the claim of the request's key."""
    seen, asked, press = confirmed
    idempotency.take(seen.id, is_finished=False)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(seen.id)
    _require_confirmable(intent)
    _require_unchanged(intent, seen)
    if press:
        press.agree(intent)
    accounts.require_charges(intent.merchant)  # Again: asking the bank may have taken long.
    if terms.cvc is None or (offered is None and intent.sealed_card.is_destroyed):
        raise ParameterMissing(param=CVC_PARAM, advice=CVC_ADVICE)
    if offered:
        intent.sealed_card = offered.seal(merchant)
    if offered is None or offered.data is None:
        payer = payer_addresses.with_stored_card(intent.sealed_card, terms.payer)
        terms = replace(terms, payer=payer)
    intent.billing_details = terms.billing
    intent.save(update_fields=["sealed_card", "billing_details"])
    if asked:
        exchanges.record_inquiry(asked.attempt, asked.outcome)
    intents.give_up_action(intent)
    return _open_attempt(merchant, intent, terms)


@transaction.atomic(durable=True)
def _refuse_on_locked_row(merchant: Merchant, intent_id: str) -> NoReturn:
    """Refuse a payment that does not wait for a card; a retry of the request is refused too."""
    idempotency.take(intent_id)
    _require_confirmable(PaymentIntent.objects.for_merchant(merchant).lock(intent_id))
    raise LockTimeout  # Since it was read it has begun to wait for a card.


def _require_confirmable(intent: PaymentIntent) -> None:
    if not _is_confirmable(intent):
        raise IntentUnexpectedState(intent, "A confirm", CONFIRMABLE)
    inquiries.refuse_in_flight(intent)


def _require_unchanged(intent: PaymentIntent, seen: PaymentIntent) -> None:
    if any(getattr(intent, name) != getattr(seen, name) for name in DECIDED_ON):
        raise LockTimeout


def _is_confirmable(intent: PaymentIntent) -> bool:
    return intent.status in CONFIRMABLE


def _open_attempt(merchant: Merchant, intent: PaymentIntent, terms: ChargeTerms) -> Attempt:
    # Committed before the bank is called: after a crash the sweeper finds it and asks.
    assert intent.sealed_card is not None  # A payment without a card was refused before.
    now, plan = clock.now(), installments.agreed(intent, terms.card, terms.wish)
    judged = risk_gate.judge(merchant, intent, terms, now)
    demand = risk_gate.demand_of(intent, terms, intent.amount + plan.surcharge, judged.verdict)
    attempt = Attempt(
        id=ids.new("att"),
        merchant_id=intent.merchant_id,
        intent=intent,
        terminal=_terminal_for(merchant, intent, terms, plan),
        acquirer_reference=references.new(),
        amount=intent.amount,
        surcharge=plan.surcharge,
        surcharge_rate_bps=plan.surcharge_rate_bps,
        program=plan.program,
        currency=intent.currency,
        installments=plan.installments,
        capture_method=intent.capture_method,
        sealed_card=intent.sealed_card,
        card=terms.card,
        return_url=terms.return_url,
        three_d_secure_requested=terms.requested,
        payer_ip_source=terms.payer.source,
        request_id=context.request_id(),
        created_at=now,
        is_declined=False,
        **demand._asdict(),
        **judged.columns,
        **begun(now, lease_until=leases.end()),
    )
    rows.insert(attempt)
    if judged.verdict.is_blocked:
        risk_gate.block(intent, attempt)
    return attempt


def _terminal_for(
    merchant: Merchant, intent: PaymentIntent, terms: ChargeTerms, plan: ChosenPlan
) -> Terminal:
    """Return the terminal that the attempt keeps.

    :raises UpstreamUnavailable: no open route takes this card in this count any more.
    """
    payment = Payment(intent.currency, terms.card, plan.installments)
    terminal = routing.routes_of(merchant).terminal_for(payment)
    if terminal is None:
        raise NotSetUp("This installation has no acquirer for this payment.")
    return terminal


def _ask_bank(attempt: Attempt, terms: ChargeTerms) -> PaymentIntent:
    if attempt.status not in OPEN_ATTEMPT:
        return attempt.intent  # A rule has blocked it.
    context.mark_irrevocable()  # An attempt is written: from here on the bank may charge.
    return pursue(attempt, cvc=terms.cvc)


def pursue(attempt: Attempt, *, cvc: str | None, ask: Ask | None = None) -> PaymentIntent:
    """Ask the bank to charge the attempt or authenticate its payer; the caller holds the lease.

    A soft decline is followed by one more attempt, with 3-D Secure.

    :param ask: in place of the first sending: a retry asks what became of it.
    """
    begin = partial(three_d_secure.begin, cvc=cvc)
    if attempt.authentication_demanded and ask is None:
        # If it cannot begin, the attempt fails: no charge without the authentication.
        return begin(attempt).intent
    ask = ask or partial(authorization.authorize, cvc=cvc)
    return settling.pursue(attempts.KIND, attempt, ask=ask, then=begin).intent
