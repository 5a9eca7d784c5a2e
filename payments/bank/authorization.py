"""Authorisations: ask the bank for an attempt's money, and what its answer does to the payment."""

from typing import Any

import structlog

import acquirers
from acquirers import refused_requests
from acquirers.conversation import schedule
from acquirers.declines import AUTHENTICATION_FAILED, PROCESSING_ERROR, Decline, explain
from acquirers.gateway import AuthorizationRequest
from acquirers.outcomes import NEVER_AT_THE_BANK, Answer, Outcome
from acquirers.three_d_secure import AuthenticationProof
from core import clock, local_days
from core.metrics import Counter, Label
from events import transitions
from ledger import book
from ledger.book import Sale
from ledger.models import Movement
from payments.bank.orders import order_to_pay
from payments.intents import deadlines, non_secure
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import (
    ATTEMPTS,
    AttemptStatus,
    PaymentStatus,
)

DECLINED = Counter(
    "pay_attempts_failed_total",
    "Attempts that took nothing, by decline code, or by the error's code.",
    reason=Label(),
)

log = structlog.get_logger(__name__)


def authorize(
    attempt: Attempt, *, cvc: str | None, proof: AuthenticationProof | None = None
) -> Outcome:
    """Ask the bank for the attempt's money, once; the caller holds the lease and no transaction."""
    request = AuthorizationRequest(
        order=order_to_pay(attempt),
        capture=captures_at_once(attempt),
        sealed=attempt.sealed_card,
        cvc=cvc,
        proof=proof,
    )
    return refused_requests.watched(attempt.terminal, acquirers.of(attempt).authorize(request))


def captures_at_once(attempt: Attempt) -> bool:
    """Return whether the bank takes the money with its yes."""
    return attempt.capture_method == PaymentIntent.CaptureMethod.AUTOMATIC


def apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> PaymentStatus:
    """Write the answer's consequences into both locked rows; return the payment's next status.

    :param outcome: "no record" only if it is to be believed.
    """
    attempt.authorization_code = outcome.authorization_code
    attempt.network_reference = outcome.network_reference
    attempt.bank_code, attempt.bank_text = outcome.exchange.code, outcome.exchange.text
    keep_numbers(attempt, outcome)
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        return _still_unknown(intent, attempt)
    if outcome.answer is Answer.APPROVED:
        return _authorized(intent, attempt)
    return _failed(intent, attempt, outcome)


def keep_numbers(attempt: Attempt, outcome: Outcome, *, operation: str = "") -> None:
    """Keep the numbers that the bank has given an operation: a void or a refund may need them.

    Changes the locked attempt in memory; the caller saves it.

    :param operation: such as "capture."; empty for the authorisation.
    """
    numbers = {f"{operation}{name}": value for name, value in outcome.exchange.numbers.items()}
    attempt.bank_numbers = {**(attempt.bank_numbers or {}), **numbers} or None


def _still_unknown(intent: PaymentIntent, attempt: Attempt) -> PaymentStatus:
    intent.last_payment_error = None  # An earlier card's; this one has not failed.
    if attempt.may_be_charged_unseen:
        # Its payer may be at the bank's gate now, so "no record" counts from now on only.
        schedule.begin_again(attempt, clock.now())
    if attempt.status != AttemptStatus.PROCESSING:
        transitions.change(attempt, AttemptStatus.PROCESSING, table=ATTEMPTS)
    schedule.ask_later(attempt)
    return PaymentStatus.PROCESSING


def _authorized(intent: PaymentIntent, attempt: Attempt) -> PaymentStatus:
    authorized = attempt.amount + attempt.surcharge
    intent.authorized_minor, intent.surcharge = authorized, attempt.surcharge
    intent.last_payment_error = None
    attempt.closed_at = clock.now()
    if attempt.capture_method == PaymentIntent.CaptureMethod.MANUAL:
        intent.amount_capturable = authorized
        transitions.change(attempt, AttemptStatus.AUTHORIZED, table=ATTEMPTS)
        schedule.look_at(attempt, deadlines.expires_at(attempt))
        return PaymentStatus.REQUIRES_CAPTURE
    return take_money(intent, attempt, authorized)


def take_money(intent: PaymentIntent, attempt: Attempt, captured: int) -> PaymentStatus:
    """Write a capture into payment, attempt and ledger; in the caller's transaction.

    :param captured: in minor units, surcharge included; the rest is released.
    """
    intent.amount_capturable = 0
    intent.captured_minor = captured
    # A part can be captured only if there is no surcharge, so it is captured whole.
    intent.captured_surcharge = min(attempt.surcharge, captured)
    attempt.captured_minor, attempt.captured_at = captured, clock.now()
    transitions.change(attempt, AttemptStatus.SUCCEEDED, table=ATTEMPTS)
    schedule.never_look(attempt)
    attempt.fee = _charge(intent, attempt).fee
    return PaymentStatus.SUCCEEDED


def _charge(intent: PaymentIntent, attempt: Attempt) -> Movement:
    now = clock.now()
    sale = Sale(
        amount=attempt.captured_minor,
        surcharge=intent.captured_surcharge,
        currency=attempt.currency,
        card_type=attempt.card["card_type"],
        installments=attempt.installments,
        source_id=intent.id,
    )
    here = local_days.of(now, intent.merchant.timezone)
    return book.charge(intent.merchant_id, sale, cause_id=attempt.id, captured_on=here, now=now)


def _failed(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> PaymentStatus:
    reason = _reason(attempt, outcome)
    attempt.error = error_of(attempt, reason, outcome)
    DECLINED.count_after_commit(attempt.error["reason"])
    # A bank that cannot answer says nothing about the card.
    is_refused = outcome.answer is Answer.DECLINED or outcome.blames_the_payment
    attempt.is_declined = is_refused and reason is not PROCESSING_ERROR
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED:
        attempt.authentication_demanded = True
    return fail(intent, attempt, AttemptStatus.FAILED)


def fail(intent: PaymentIntent, attempt: Attempt, status: AttemptStatus) -> PaymentStatus:
    """Close an attempt that took nothing; the payment shows its `error` and takes another card.

    :returns: the status that the caller moves the payment to.
    """
    end_unpaid(attempt, status)
    attempt.closed_at = clock.now()
    intent.last_payment_error = attempt.error
    _hold_nothing(intent)
    return PaymentStatus.REQUIRES_PAYMENT_METHOD


def end_unpaid(attempt: Attempt, status: AttemptStatus) -> None:
    """Give a locked attempt its last status, in memory, and the day's limit its money back.

    In the transaction in which the caller saves the attempt. The bank is no longer asked about it,
    unless it may charge a lost payer by itself: then until a charge can come no more.

    :param status: one of `states.UNPAID`.
    """
    may_be_charged = attempt.may_be_charged_unseen
    transitions.change(attempt, status, table=ATTEMPTS)
    if may_be_charged:
        schedule.begin_asking(attempt, clock.now())
    else:
        schedule.never_look(attempt)
    non_secure.take_off(attempt)


def cancel(intent: PaymentIntent, reason: str | None) -> PaymentStatus:
    """Write a cancellation into a locked payment; the bank holds no money for it any more.

    :returns: the status that the caller moves the payment to.
    """
    _hold_nothing(intent)
    intent.canceled_at, intent.cancellation_reason = clock.now(), reason
    return PaymentStatus.CANCELED


def _hold_nothing(intent: PaymentIntent) -> None:
    """Write that neither money nor a card is held; the next confirm must bring a card."""
    intent.authorized_minor = intent.surcharge = intent.amount_capturable = 0
    intent.sealed_card = None


def error_of(attempt: Attempt, reason: Decline, outcome: Outcome) -> dict[str, Any]:
    """Return the error of a failed attempt, which the payment shows as `last_payment_error`.

    An answer that never came from the bank is an `api_error` without a decline code (contract 2),
    unless the acquirer refused the card or the amount by itself.
    """
    is_ours = outcome.answer in NEVER_AT_THE_BANK and not outcome.blames_the_payment
    decline_code = None if is_ours else reason.decline_code
    return {
        "type": "api_error" if is_ours else "card_error",
        "code": reason.code,
        "decline_code": decline_code,
        "reason": decline_code or reason.code,
        "message": reason.message,
        "attempt": attempt.id,
        "network_decline_code": outcome.response_code,
        "advice_code": reason.advice_code,
    }


def _reason(attempt: Attempt, outcome: Outcome) -> Decline:
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED and attempt.authentication_demanded:
        return AUTHENTICATION_FAILED
    return explain(outcome)
