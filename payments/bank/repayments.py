"""Money given back at the bank: a void of all that it holds or took, or a refund by reference.

Each function asks the bank; no transaction is open. *Again* means that an earlier request may have
reached the bank, or may yet: only the bank's own answer counts then.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import acquirers
from acquirers import refused_requests, standings
from acquirers.conversation import answers, schedule
from acquirers.gateway import SoughtRefund
from acquirers.outcomes import Answer, OperationKind, Outcome, learnt_after
from core.errors import NotSetUp
from payments.bank.orders import order_of
from payments.intents.models import Attempt
from payments.intents.states import NextStep

RELEASED = (Answer.APPROVED, Answer.LAPSED)
# A bank may refuse a void because nothing is left to be voided.
REFUSED = (Answer.DECLINED, Answer.SETTLED)
A_DAY = timedelta(days=1)


def void(attempt: Attempt) -> Outcome:
    """Release what the bank holds, or give back all that it took today.

    A refusal is followed by an inquiry: if nothing is held any more, the release is done.
    """
    answer = acquirers.of(attempt).void(order_of(attempt))
    outcome = refused_requests.watched(attempt.terminal, answer)
    if outcome.answer not in REFUSED or (outcome.after and outcome.after.is_from_inquiry):
        return outcome  # No refusal, or the adapter has inquired what it means.
    known = inquire(attempt, OperationKind.VOID)
    if known.answer in RELEASED:
        return replace(known, after=outcome)
    return replace(outcome, after=known)


def void_again(attempt: Attempt) -> Outcome:
    """Ask for the same release once more: a bank releases an authorisation once.

    A refusal counts if the bank also says that the money was not released before.
    """
    outcome = answers.in_doubt(void(attempt))
    if outcome.answer in REFUSED and outcome.after and _tells_nothing(outcome.after):
        return replace(outcome, answer=Answer.UNKNOWN)
    return outcome


def give_up(attempt: Attempt, *, dispute: str) -> Outcome:
    """Accept a dispute about all of the money: the bank gives it back to the cardholder.

    :param dispute: the bank's name for it.
    """
    outcome = acquirers.of(attempt).accept_dispute(order_of(attempt), dispute=dispute)
    return refused_requests.watched(attempt.terminal, outcome)


def inquire(attempt: Attempt, deed: OperationKind) -> Outcome:
    """Inquire about the authorisation, and translate its state into an answer to the request.

    :param deed: CAPTURE or VOID.
    """
    gateway = acquirers.of(attempt)
    found = standings.modification(gateway.inquire(order_of(attempt)), deed)
    if found.answer is Answer.NO_RECORD and not gateway.capabilities.inquires_modifications:
        # The bank tells of the sale alone: it may have done what it does not tell of.
        return replace(found, answer=Answer.UNKNOWN)
    return found


def has_names(attempt: Attempt) -> bool:
    """Return whether the attempt's bank keeps our references of refunds, or cannot be reached."""
    try:
        return acquirers.of(attempt).capabilities.refunds_have_names
    except NotSetUp:
        return True  # Nothing is sent there, so that nothing can be mistaken for something else.


def absence_not_before(attempt: Attempt, asked_at: datetime) -> datetime | None:
    """Return until when "no record" of a refund proves nothing; None if it does at any time.

    A bank without names of refunds may write one down as late as at the end of its day.

    :param asked_at: when the bank got the refund last.
    """
    if has_names(attempt):
        return None
    return day_is_over(attempt, asked_at)


def day_is_over(attempt: Attempt, moment: datetime) -> datetime:
    """Return when the bank has closed the day of a moment; a day later where days have no end."""
    ends_at = acquirers.of(attempt).voidable_until(moment) or moment + A_DAY
    return ends_at + schedule.AFTER_THE_DAY


def send_or_ask(next_step: NextStep, attempt: Attempt, sought: SoughtRefund) -> Outcome:
    """Send a refund, send it again, or ask about it."""
    do = {NextStep.SEND: refund, NextStep.SEND_AGAIN: refund_again, NextStep.ASK: find_refund}[
        next_step
    ]
    return do(attempt, sought)


def refund(attempt: Attempt, sought: SoughtRefund) -> Outcome:
    """Give captured money back to the card."""
    gateway, order = acquirers.of(attempt), order_of(attempt)
    outcome = gateway.refund(order, reference=sought.reference, amount=sought.amount)
    return refused_requests.watched(attempt.terminal, outcome)


def refund_again(attempt: Attempt, sought: SoughtRefund) -> Outcome:
    """Send a refund once more under its reference, which the bank is said to have no record of.

    Never under another reference: a bank that knows references then sees that it is the same
    refund, and an inquiry finds both. A refusal may mean just that, so the bank is asked.
    """
    outcome = answers.in_doubt(refund(attempt, sought))
    if outcome.answer not in (Answer.DECLINED, Answer.DAY_OPEN):
        return outcome
    known = inquire_refund(attempt, sought)
    if known.answer in (Answer.APPROVED, Answer.PENDING):
        return replace(known, after=outcome)
    all_answers = learnt_after(known, outcome.after)
    if _tells_nothing(known):
        return replace(outcome, answer=Answer.UNKNOWN, after=all_answers)
    return replace(outcome, after=all_answers)


def find_refund(attempt: Attempt, sought: SoughtRefund) -> Outcome:
    """Ask what became of a refund; send it again where the same reference is one refund."""
    found = inquire_refund(attempt, sought)
    is_safe = acquirers.of(attempt).capabilities.refunds_are_idempotent and has_names(attempt)
    if found.answer is not Answer.NO_RECORD or not is_safe:
        return found
    return learnt_after(answers.in_doubt(refund(attempt, sought)), found)


def inquire_refund(attempt: Attempt, sought: SoughtRefund) -> Outcome:
    """Ask what the bank has of one refund, which changes nothing there."""
    standing = acquirers.of(attempt).inquire_refund(order_of(attempt), sought=sought)
    if has_names(attempt):
        return standings.refund(standing)
    return standings.nameless_refund(standing, sought)


def _tells_nothing(inquiry: Outcome) -> bool:
    return inquiry.answer not in (Answer.NO_RECORD, Answer.DECLINED)
