"""3-D Secure begins: the bank names the page where the payer goes (contract 3)."""

from django.db import transaction

import acquirers
from acquirers.conversation import leases, schedule, settling
from acquirers.gateway import AuthenticationRequest
from acquirers.outcomes import Answer, Outcome
from acquirers.three_d_secure import FormPost, Redirect
from api import idempotency
from core import clock, context
from events import transitions
from payments.bank import attempts, authorization
from payments.bank.orders import order_to_pay
from payments.intents import deadlines, render
from payments.intents.models import Attempt
from payments.intents.states import ATTEMPTS, AttemptStatus, PaymentStatus
from payments.intents.transition import move
from payments.payer import payer_links
from vault import cvc as vault_cvc


def begin(attempt: Attempt, *, cvc: str | None) -> Attempt:
    """Send the payer to the bank; the caller holds the attempt's lease.

    If the bank cannot begin, the attempt fails: it is never charged without authentication.

    :returns: the attempt as it is then, its payment with it.
    """
    with leases.given_back(attempt):
        gateway = acquirers.of(attempt)
        beginning = gateway.begin(request_of(attempt, cvc))
        if beginning is None:
            return _fail(attempt)
        if cvc and gateway.capabilities.cvc_at_handoff:
            # Before the payer can come: by the attempt, so that no other one can use it.
            vault_cvc.hold(attempt.id, cvc)
        return settling.apply_with_retry(attempt, lambda: _await_payer(attempt, beginning))


def _fail(attempt: Attempt) -> Attempt:
    outcome = Outcome(Answer.AUTHENTICATION_REQUIRED)
    ended = settling.apply_with_retry(
        attempt, lambda: settling.settle(attempts.KIND, attempt, outcome)
    )
    return ended.row


@transaction.atomic(durable=True)
def _await_payer(attempt: Attempt, beginning: Redirect | FormPost) -> Attempt:
    asked = attempt
    intent, attempt = attempts.locked(asked)
    if attempt.status != AttemptStatus.PROCESSING or leases.is_overtaken(asked, attempt):
        return attempt
    before = render.payment_intent(intent)
    transitions.change(attempt, AttemptStatus.REQUIRES_ACTION, table=ATTEMPTS)
    attempt.acs_url = beginning.url
    attempt.authentication = {"flow": "challenge", "version": beginning.version}
    if isinstance(beginning, Redirect):
        attempt.authentication["transaction_id"] = beginning.transaction_id
    else:
        attempt.hand_off = {"origins": beginning.origins, **_known_browser()}
    leases.end_with(attempt)
    schedule.look_at(attempt, clock.now() + deadlines.PAYER_HAS)
    attempt.save()
    attempts.show_attempt(intent, attempt)
    intent.last_payment_error = None
    intent.next_action = {
        "type": "redirect_to_url",
        "redirect_to_url": {"url": payer_links.address(attempt), "return_url": attempt.return_url},
    }
    cause = attempt.request_id
    move(intent, PaymentStatus.REQUIRES_ACTION, before, request_id=cause, answer=idempotency.answer)
    return attempt


def _known_browser() -> dict[str, str]:
    # Before the link exists: whoever reads it first does not get the card.
    work = context.current()
    return {"browser": work.payer_browser} if work and work.payer_browser else {}


def request_of(attempt: Attempt, cvc: str | None) -> AuthenticationRequest:
    """Return the request by which the attempt's payer is authenticated."""
    return AuthenticationRequest(
        order=order_to_pay(attempt),
        capture=authorization.captures_at_once(attempt),
        merchant_name=attempt.intent.merchant.name,
        callback_url=payer_links.return_address(attempt),
        return_url=payer_links.way_back(attempt),
        sealed=attempt.sealed_card,
        cvc=cvc,
    )
