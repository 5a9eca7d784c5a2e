"""3-D Secure begins: the bank names the page where the payer goes (contract 3)."""

from typing import Any

from django.db import transaction

import acquirers
from acquirers import exchanges, references
from acquirers.declines import explain
from acquirers.gateway import AuthenticationRequest
from acquirers.in_doubt import answers, leases, schedule
from acquirers.in_doubt.models import begun
from acquirers.outcomes import Answer, Outcome
from acquirers.three_d_secure import FormPost, Redirect
from core import clock, ids
from events import transitions
from merchants import idempotency
from payments.intents import authorization, deadlines, fraud, payer_links, render
from payments.intents.endings import end_unpaid
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.orders import order_of
from payments.intents.states import ATTEMPTS, OPEN_ATTEMPT, AttemptStatus, Status
from payments.intents.transition import move
from vault import cvc as vault_cvc


def begin(attempt: Attempt, cvc: str | None) -> PaymentIntent:
    """Send the payer to the bank; the caller holds the attempt's lease.

    If the bank cannot begin, the attempt fails: it is never charged without authentication.
    """
    gateway = acquirers.of(attempt)
    beginning = gateway.begin(request_of(attempt, cvc))
    if beginning is None:
        outcome = Outcome(Answer.AUTHENTICATION_REQUIRED)
        return answers.apply_with_retry(attempt, lambda: authorization.apply(attempt, outcome))
    if cvc and gateway.capabilities.cvc_at_handoff:
        # Before the payer can come: by the attempt, so that no other one can use it.
        vault_cvc.hold(attempt.id, cvc)
    return answers.apply_with_retry(attempt, lambda: _await_payer(attempt, beginning))


@transaction.atomic(durable=True)
def begin_anew(declined: Attempt, outcome: Outcome) -> Attempt | None:
    """Follow a soft decline by an attempt with 3-D Secure, once (contract 2).

    :returns: the new attempt, its lease held; None if another process has closed the declined
        one, or the payment has become `processing`: its payer can no longer be sent to the bank.
    """
    intent, declined = authorization.locked(declined)
    if declined.status not in OPEN_ATTEMPT or intent.status == Status.PROCESSING:
        return None  # `authorization.apply` comes next, and writes the inquiry down.
    exchanges.record_inquiry(declined, outcome)
    fraud.hear_bank(declined, outcome)
    copied = fraud.successor_of(declined)
    declined.error = authorization.error_of(declined, explain(outcome), outcome)
    end_unpaid(declined, AttemptStatus.FAILED)
    declined.closed_at = clock.now()
    leases.end_with(declined)
    declined.save()
    return _successor(declined, copied)


def _successor(declined: Attempt, judged: dict[str, Any]) -> Attempt:
    now = clock.now()
    copied = (
        "merchant_id", "intent_id", "terminal", "amount", "surcharge", "surcharge_rate_bps",
        "program", "currency", "installments",
        "capture_method", "sealed_card_id", "card", "return_url", "three_d_secure_requested",
        "request_id",
    )  # fmt: skip
    return Attempt.objects.create(
        id=ids.new("att"),
        acquirer_reference=references.new(),
        authentication_demanded=True,
        created_at=now,
        **begun(now, lease_until=leases.end()),
        **judged,
        **{name: getattr(declined, name) for name in copied},
    )


@transaction.atomic(durable=True)
def _await_payer(attempt: Attempt, beginning: Redirect | FormPost) -> PaymentIntent:
    asked = attempt
    intent, attempt = authorization.locked(asked)
    if attempt.status != AttemptStatus.PROCESSING or leases.is_overtaken(asked, attempt):
        return intent
    before = render.payment_intent(intent)
    transitions.change(attempt, AttemptStatus.REQUIRES_ACTION, table=ATTEMPTS)
    attempt.acs_url = beginning.url
    attempt.authentication = {"flow": "challenge", "version": beginning.version}
    if isinstance(beginning, Redirect):
        attempt.authentication["transaction_id"] = beginning.transaction_id
    else:
        attempt.hand_off = {"origins": beginning.origins}
    leases.end_with(attempt)
    schedule.look_at(attempt, clock.now() + deadlines.PAYER_HAS)
    attempt.save()
    authorization.show_attempt(intent, attempt)
    intent.last_payment_error = None
    intent.next_action = {
        "type": "redirect_to_url",
        "redirect_to_url": {"url": payer_links.address(attempt), "return_url": attempt.return_url},
    }
    cause = attempt.request_id
    move(intent, Status.REQUIRES_ACTION, before, request_id=cause, answer=idempotency.answer)
    return intent


def request_of(attempt: Attempt, cvc: str | None) -> AuthenticationRequest:
    """Return the request by which the attempt's payer is authenticated."""
    return AuthenticationRequest(
        order=order_of(attempt),
        capture=authorization.captures_at_once(attempt),
        merchant_name=attempt.intent.merchant.name,
        callback_url=payer_links.return_address(attempt),
        return_url=payer_links.way_back(attempt),
        sealed=attempt.sealed_card,
        cvc=cvc,
    )
