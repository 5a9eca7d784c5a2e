"""3-D Secure: the payer goes to the bank, and comes back with its signed word (contract 3)."""

import time
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction

from core import clock, connections, context, ids
from core.arrival import ClientHungUp
from merchants import idempotency
from payments import (
    authorization,
    gateways,
    leases,
    payer_links,
    render,
    schedule,
    settlement,
)
from payments.gateways import slots
from payments.gateways.base import (
    Answer,
    Authentication,
    AuthenticationRequest,
    Challenge,
    Forged,
    Outcome,
    Proof,
)
from payments.gateways.decline_codes import explain
from payments.models import Attempt, PaymentIntent
from payments.states import OPEN_ATTEMPT, AttemptStatus, Status
from payments.transition import move

FULL = "1"
ATTEMPTED = ("2", "3", "4")
# What an attempt without the payer's own word must carry for the issuer to bear the risk.
ECI_OF_AN_ATTEMPT = ("06", "01")
# What a bank usually takes. Each further press holds a thread of the web process meanwhile, so that
# a payer who presses on, or somebody who sends the answer many times, must not hold them for as
# long as a silent bank does.
SECOND_ARRIVAL_WAITS_SECONDS = 2
SECOND_LOOK_SECONDS = 0.1


class PayerTooEarly(Exception):
    """The acquirer has no slot for a payer who came back; `attempt` is the one they paid with."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__("no slot at the acquirer")
        self.attempt = attempt


def begin(attempt: Attempt, cvc: str | None) -> PaymentIntent:
    """Send the payer to the bank; the caller holds the attempt's lease.

    A bank that cannot begin fails the attempt: never a fall-back to a payment without.
    """
    challenge = gateways.acquirer().start_authentication(_request(attempt, cvc))
    if challenge is None:
        outcome = Outcome(Answer.AUTHENTICATION_REQUIRED)
        return settlement.surely(attempt, lambda: settlement.settle(attempt, outcome))
    return settlement.surely(attempt, lambda: _await_payer(attempt, challenge))


@transaction.atomic(durable=True)
def begin_anew(declined: Attempt, outcome: Outcome) -> Attempt | None:
    """Follow a soft decline by an attempt with 3-D Secure, once (contract 2).

    :returns: the new attempt, its lease held; None if the declined one was settled by others,
        or became `processing` meanwhile, from where no payer is sent anywhere.
    """
    intent, declined = settlement.locked(declined)
    if declined.status not in OPEN_ATTEMPT or intent.status == Status.PROCESSING:
        return None
    declined.error = settlement.error_of(declined, explain(outcome), outcome)
    declined.status, declined.closed_at = AttemptStatus.FAILED, clock.now()
    declined.due_at = declined.lease_until = None
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
        asked_at=now,
        due_at=now,
        lease_until=leases.end(),
        **{name: getattr(declined, name) for name in copied},
    )


@transaction.atomic(durable=True)
def _await_payer(attempt: Attempt, challenge: Challenge) -> PaymentIntent:
    idempotency.settle()
    begun = attempt
    intent, attempt = settlement.locked(attempt)
    if attempt.status != AttemptStatus.PROCESSING or settlement.has_gone_on(attempt, since=begun):
        return intent
    before = render.payment_intent(intent)
    attempt.status, attempt.acs_url = AttemptStatus.REQUIRES_ACTION, challenge.acs_url
    attempt.authentication = {
        "flow": "challenge",
        "version": challenge.version,
        "transaction_id": challenge.transaction_id,
    }
    attempt.lease_until, attempt.due_at = None, clock.now() + schedule.PAYER_HAS
    attempt.save()
    settlement.show_attempt(intent, attempt)
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
        return_url=attempt.return_url,
        cvc=cvc,
        **authorization.terms(attempt),
    )


def accept(fields: Mapping[str, str]) -> Attempt:
    """Take the bank's answer from the payer's browser, confirm with the bank, and settle.

    An answer that was used before, or comes too late, changes nothing.

    :raises Forged: it is not the bank's answer to a payment of ours.
    :raises PayerTooEarly: no slot came free at the acquirer, or the payer left before one did;
        the answer stays good.
    """
    told = gateways.acquirer().read_authentication(fields)
    meant = _meant(told)
    if meant.status != AttemptStatus.REQUIRES_ACTION or not _accept_first(meant, told):
        _await_the_first_arrival(meant)
    return meant


def _accept_first(meant: Attempt, told: Authentication) -> bool:
    """Settle what the answer is to; False if another arrival does."""
    if not is_enough(meant, told):
        return _settle_first(meant, told)  # Nobody is asked for the money.
    try:
        with slots.for_payer_of(meant.merchant_id):
            return _settle_first(meant, told)
    except (slots.AcquirerBusy, ClientHungUp) as not_now:
        raise PayerTooEarly(meant) from not_now


def _settle_first(meant: Attempt, told: Authentication) -> bool:
    attempt = _use_up(meant, told)
    if attempt is None:
        return False
    context.mark_irrevocable()
    with leases.given_back(attempt):
        outcome = _confirmed(attempt, told)
        settlement.surely(attempt, lambda: settlement.settle(attempt, outcome))
    return True


def _await_the_first_arrival(attempt: Attempt) -> None:
    """Keep a payer who pressed twice until the payment is decided, as the first press does.

    Otherwise the shop would read `requires_action` and tell them that they did not pay. With
    a bank that takes longer it may: the payer's shop hears the end by its event.
    """
    patience = min(SECOND_ARRIVAL_WAITS_SECONDS, context.remaining_seconds())
    ends_at = time.monotonic() + patience
    at_the_bank = Attempt.objects.filter(
        id=attempt.id, status=AttemptStatus.PROCESSING, lease_until__isnull=False
    )
    while at_the_bank.exists() and time.monotonic() < ends_at:
        connections.give_back()
        time.sleep(SECOND_LOOK_SECONDS)


def _meant(told: Authentication) -> Attempt:
    attempt = Attempt.objects.filter(acquirer_reference=told.reference).first()
    if attempt is None or not _is_answer_to(attempt, told):
        raise Forged("The answer is to no payment of ours.")
    return attempt


def _is_answer_to(attempt: Attempt, told: Authentication) -> bool:
    return (told.amount, told.currency, told.transaction_id) == (
        attempt.amount + attempt.surcharge,
        attempt.currency,
        attempt.authentication.get("transaction_id"),
    )


@transaction.atomic(durable=True)
def _use_up(attempt: Attempt, told: Authentication) -> Attempt | None:
    """Write the answer down before anything follows from it.

    :returns: the attempt, its lease held; None if this answer is not awaited (any more).
    """
    _intent, attempt = settlement.locked(attempt)
    if attempt.status != AttemptStatus.REQUIRES_ACTION or not _is_answer_to(attempt, told):
        return None
    now = clock.now()
    attempt.status, attempt.authenticated_at = AttemptStatus.PROCESSING, now
    attempt.md_status, attempt.cavv = told.md_status, told.cavv
    result = "authenticated" if told.md_status == FULL else "attempted"
    attempt.authentication |= {
        "result": result if is_enough(attempt, told) else "failed",
        "eci": told.eci,
    }
    attempt.lease_until = leases.end()
    schedule.begin_asking(attempt, now)
    attempt.save()
    return attempt


def is_enough(attempt: Attempt, told: Authentication) -> bool:
    """Tell whether the bank's word allows to authorise (contract 3)."""
    if told.md_status == FULL:
        return True
    is_domestic_debit = attempt.card["domestic"] and attempt.card["card_type"] == "debit"
    has_proof = told.eci in ECI_OF_AN_ATTEMPT and bool(told.cavv)
    return told.md_status in ATTEMPTED and has_proof and not is_domestic_debit


def _confirmed(attempt: Attempt, told: Authentication) -> Outcome:
    """Ask for the money, with the proof; without one, for nothing."""
    if not is_enough(attempt, told):
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    proof = Proof(told.transaction_id, told.eci, told.cavv)
    return authorization.authorize(attempt, cvc=None, proof=proof)
