"""3-D Secure: the payer goes to the bank and comes back with its signed answer (contract 3)."""

import time
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction

import acquirers
from acquirers import slots
from acquirers.declines import explain
from acquirers.gateway import (
    Answer,
    Authentication,
    AuthenticationRequest,
    Challenge,
    Forged,
    Outcome,
    Proof,
)
from acquirers.in_doubt import answers, leases, schedule
from acquirers.in_doubt.models import begun
from core import clock, connections, context, ids
from core.arrival import ClientHungUp
from events import transitions
from merchants import idempotency
from payments.intents import authorization, deadlines, payer_links, render
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import ATTEMPTS, OPEN_ATTEMPT, AttemptStatus, Status
from payments.intents.transition import move

FULL = "1"
ATTEMPTED = ("2", "3", "4")
# If the payer did not authenticate in full, the issuer bears the risk with one of these ECIs only.
ECI_OF_AN_ATTEMPT = ("06", "01")
# Most banks answer within this time. Each further arrival of the same answer holds a thread of the
# web process meanwhile; a client that sends it many times must not hold the threads for as long as
# a silent bank does.
SECOND_ARRIVAL_WAITS_SECONDS = 2
SECOND_LOOK_SECONDS = 0.1


class PayerTooEarly(Exception):
    """The acquirer has no slot for a payer who came back; `attempt` is the one they paid with."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__("no slot at the acquirer")
        self.attempt = attempt


def begin(attempt: Attempt, cvc: str | None) -> PaymentIntent:
    """Send the payer to the bank; the caller holds the attempt's lease.

    If the bank cannot begin, the attempt fails: it is never charged without authentication.
    """
    challenge = acquirers.acquirer().start_authentication(_request(attempt, cvc))
    if challenge is None:
        outcome = Outcome(Answer.AUTHENTICATION_REQUIRED)
        return answers.apply_with_retry(attempt, lambda: authorization.apply(attempt, outcome))
    return answers.apply_with_retry(attempt, lambda: _await_payer(attempt, challenge))


@transaction.atomic(durable=True)
def begin_anew(declined: Attempt, outcome: Outcome) -> Attempt | None:
    """Follow a soft decline by an attempt with 3-D Secure, once (contract 2).

    :returns: the new attempt, its lease held; None if another process has closed the declined
        one, or the payment has become `processing`: its payer can no longer be sent to the bank.
    """
    intent, declined = authorization.locked(declined)
    if declined.status not in OPEN_ATTEMPT or intent.status == Status.PROCESSING:
        return None
    declined.error = authorization.error_of(declined, explain(outcome), outcome)
    transitions.change(declined, AttemptStatus.FAILED, table=ATTEMPTS)
    declined.closed_at = clock.now()
    schedule.never_look(declined)
    leases.end_with(declined)
    declined.save()
    return _successor(declined)


def _successor(declined: Attempt) -> Attempt:
    now = clock.now()
    copied = (
        "merchant_id", "intent_id", "amount", "surcharge", "currency", "installments",
        "capture_method", "sealed_card_id", "card", "return_url", "three_d_secure_requested",
        "request_id",
    )  # fmt: skip
    return Attempt.objects.create(
        id=ids.new("att"),
        acquirer_reference=ids.new("ref"),
        authentication_demanded=True,
        created_at=now,
        **begun(now, lease_until=leases.end()),
        **{name: getattr(declined, name) for name in copied},
    )


@transaction.atomic(durable=True)
def _await_payer(attempt: Attempt, challenge: Challenge) -> PaymentIntent:
    asked = attempt
    intent, attempt = authorization.locked(asked)
    if attempt.status != AttemptStatus.PROCESSING or leases.is_overtaken(asked, attempt):
        return intent
    idempotency.finish()
    before = render.payment_intent(intent)
    transitions.change(attempt, AttemptStatus.REQUIRES_ACTION, table=ATTEMPTS)
    attempt.acs_url = challenge.acs_url
    attempt.authentication = {
        "flow": "challenge",
        "version": challenge.version,
        "transaction_id": challenge.transaction_id,
    }
    leases.end_with(attempt)
    schedule.look_at(attempt, clock.now() + deadlines.PAYER_HAS)
    attempt.save()
    authorization.show_attempt(intent, attempt)
    intent.last_payment_error = None
    intent.next_action = {
        "type": "redirect_to_url",
        "redirect_to_url": {"url": payer_links.address(attempt), "return_url": attempt.return_url},
    }
    move(intent, Status.REQUIRES_ACTION, before, request_id=attempt.request_id)
    return intent


def _request(attempt: Attempt, cvc: str | None) -> AuthenticationRequest:
    return AuthenticationRequest(
        merchant_name=attempt.intent.merchant.name,
        callback_url=f"{settings.BASE_URL}{payer_links.RETURN_PATH}",
        return_url=payer_links.way_back(attempt),
        cvc=cvc,
        **authorization.terms(attempt),
    )


def accept(fields: Mapping[str, str]) -> Attempt:
    """Take the bank's answer from the payer's browser, and ask the bank for the money with it.

    An answer that was used before, or comes too late, changes nothing.

    :raises Forged: it is not the bank's answer to a payment of ours.
    :raises PayerTooEarly: no slot came free at the acquirer, or the payer left before one did;
        the answer stays good.
    """
    answer = acquirers.acquirer().read_authentication(fields)
    attempt = _attempt_of(answer)
    if attempt.status != AttemptStatus.REQUIRES_ACTION or not _accept_first(attempt, answer):
        _await_the_first_arrival(attempt)
    return attempt


def _accept_first(attempt: Attempt, answer: Authentication) -> bool:
    """Resolve the attempt that the answer is to; False if another arrival of it does.

    A slot is taken only if the bank will be asked for the money.
    """
    if not is_enough(attempt, answer):
        return _resolve_once(attempt, answer)
    try:
        with slots.for_payer_of(attempt.merchant_id):
            return _resolve_once(attempt, answer)
    except (slots.AcquirerBusy, ClientHungUp) as not_now:
        raise PayerTooEarly(attempt) from not_now


def _resolve_once(attempt: Attempt, answer: Authentication) -> bool:
    leased = _use_up(attempt, answer)
    if leased is None:
        return False
    context.mark_irrevocable()
    with leases.given_back(leased):
        outcome = _confirmed(leased, answer)
        answers.apply_with_retry(leased, lambda: authorization.apply(leased, outcome))
    return True


def _await_the_first_arrival(attempt: Attempt) -> None:
    """Keep a payer who pressed twice until the first press has resolved the payment, at most 2 s.

    Otherwise the shop would read `requires_action` and tell them that they did not pay. With a
    bank that takes longer that can happen: the shop then learns the end from the event.
    """
    patience = min(SECOND_ARRIVAL_WAITS_SECONDS, context.remaining_seconds())
    ends_at = time.monotonic() + patience
    at_the_bank = Attempt.objects.filter(
        id=attempt.id, status=AttemptStatus.PROCESSING, lease_until__isnull=False
    )
    while at_the_bank.exists() and time.monotonic() < ends_at:
        connections.give_back()
        time.sleep(SECOND_LOOK_SECONDS)


def _attempt_of(answer: Authentication) -> Attempt:
    attempt = Attempt.objects.filter(acquirer_reference=answer.reference).first()
    if attempt is None or not _is_answer_to(attempt, answer):
        raise Forged("The answer is to no payment of ours.")
    return attempt


def _is_answer_to(attempt: Attempt, answer: Authentication) -> bool:
    return (answer.amount, answer.currency, answer.transaction_id) == (
        attempt.amount + attempt.surcharge,
        attempt.currency,
        attempt.authentication.get("transaction_id"),
    )


@transaction.atomic(durable=True)
def _use_up(attempt: Attempt, answer: Authentication) -> Attempt | None:
    """Write the answer into the attempt before the bank is asked, so that it is used only once.

    :returns: the attempt, its lease held; None if the attempt does not await this answer.
    """
    _intent, attempt = authorization.locked(attempt)
    if attempt.status != AttemptStatus.REQUIRES_ACTION or not _is_answer_to(attempt, answer):
        return None
    now = clock.now()
    transitions.change(attempt, AttemptStatus.PROCESSING, table=ATTEMPTS)
    attempt.authenticated_at = now
    attempt.md_status, attempt.cavv = answer.md_status, answer.cavv
    result = "authenticated" if answer.md_status == FULL else "attempted"
    attempt.authentication |= {
        "result": result if is_enough(attempt, answer) else "failed",
        "eci": answer.eci,
    }
    leases.begin(attempt)
    schedule.begin_asking(attempt, now)
    attempt.save()
    return attempt


def is_enough(attempt: Attempt, answer: Authentication) -> bool:
    """Tell whether the authentication suffices to ask the bank for the money (contract 3)."""
    if answer.md_status == FULL:
        return True
    is_domestic_debit = attempt.card["domestic"] and attempt.card["card_type"] == "debit"
    has_proof = answer.eci in ECI_OF_AN_ATTEMPT and bool(answer.cavv)
    return answer.md_status in ATTEMPTED and has_proof and not is_domestic_debit


def _confirmed(attempt: Attempt, answer: Authentication) -> Outcome:
    """Ask the bank for the money, with the proof; ask nothing if the authentication failed."""
    if not is_enough(attempt, answer):
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    proof = Proof(answer.transaction_id, answer.eci, answer.cavv)
    return authorization.authorize(attempt, cvc=None, proof=proof)
