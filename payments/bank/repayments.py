"""Money given back at the bank: a void of all that it holds or took, or a refund by reference.

Each function asks the bank; no transaction is open. *Again* means that an earlier request may have
reached the bank, or may yet: only the bank's own answer counts then.
"""

from dataclasses import replace

import acquirers
from acquirers import refused_requests, standings
from acquirers.conversation import answers
from acquirers.outcomes import Answer, OperationKind, Outcome
from payments.bank.orders import order_of
from payments.intents.models import Attempt
from payments.intents.states import NextStep

RELEASED = (Answer.APPROVED, Answer.LAPSED)
# A bank may refuse a void because nothing is left to be voided.
REFUSED = (Answer.DECLINED, Answer.SETTLED)


def void(attempt: Attempt) -> Outcome:
    """Release what the bank holds, or give back all that it took today.

    A refusal is followed by an inquiry: if nothing is held any more, the release is done.
    """
    outcome = acquirers.of(attempt).void(order_of(attempt))
    refused_requests.watched(attempt.terminal, outcome)
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


def send_or_ask(next_step: NextStep, attempt: Attempt, *, reference: str, amount: int) -> Outcome:
    """Send a refund, send it again, or ask about it.

    :param reference: ours, of this refund alone.
    :param amount: in minor units, surcharge included.
    """
    do = {NextStep.SEND: refund, NextStep.SEND_AGAIN: refund_again, NextStep.ASK: find_refund}[
        next_step
    ]
    return do(attempt, reference=reference, amount=amount)


def refund(attempt: Attempt, *, reference: str, amount: int) -> Outcome:
    """Give captured money back to the card."""
    gateway = acquirers.of(attempt)
    outcome = gateway.refund(order_of(attempt), reference=reference, amount=amount)
    return refused_requests.watched(attempt.terminal, outcome)


def refund_again(attempt: Attempt, *, reference: str, amount: int) -> Outcome:
    """Send a refund once more under its reference, which the bank is said to have no record of.

    Never under another reference: a bank that knows references then sees that it is the same
    refund, and an inquiry finds both. A refusal may mean just that, so the bank is asked.
    """
    outcome = answers.in_doubt(refund(attempt, reference=reference, amount=amount))
    if outcome.answer not in (Answer.DECLINED, Answer.DAY_OPEN):
        return outcome
    known = inquire_refund(attempt, reference=reference)
    if known.answer in (Answer.APPROVED, Answer.PENDING):
        return replace(known, after=outcome)
    if _tells_nothing(known):
        return replace(outcome, answer=Answer.UNKNOWN, after=known)
    return replace(outcome, after=known)


def find_refund(attempt: Attempt, *, reference: str, amount: int) -> Outcome:
    """Ask what became of a refund; send it again where the same reference is one refund."""
    found = inquire_refund(attempt, reference=reference)
    is_safe = acquirers.of(attempt).capabilities.refunds_are_idempotent
    if found.answer is not Answer.NO_RECORD or not is_safe:
        return found
    outcome = answers.in_doubt(refund(attempt, reference=reference, amount=amount))
    return replace(outcome, after=found)


def inquire_refund(attempt: Attempt, *, reference: str) -> Outcome:
    """Ask what the bank has of one refund, which changes nothing there."""
    standing = acquirers.of(attempt).inquire_refund(order_of(attempt), reference=reference)
    return standings.refund(standing)


def _tells_nothing(inquiry: Outcome) -> bool:
    return inquiry.answer not in (Answer.NO_RECORD, Answer.DECLINED)
