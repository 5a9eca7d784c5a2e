"""The bank's late answer about a refund that has ended already (contract: Cases).

A failed refund stays so: the merchant knows of it, and may have refunded again. A late yes moves
nothing, and a person has to look.
"""

from typing import Any

import structlog

from acquirers.conversation import leases, schedule
from acquirers.conversation.kinds import Kind
from acquirers.outcomes import Answer
from cases import cases
from cases.states import CaseKind
from core import clock, money
from payments.bank import repayments
from payments.deciding.comparing import Comparison, compare_with_decision
from payments.refunds import steps
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason, Method, RefundStatus

# The answers that say something about the refund, whichever process has asked.
WORDS = (Answer.APPROVED, Answer.DECLINED, Answer.NO_RECORD)

log = structlog.get_logger(__name__)


def look_once_more(refund: Refund) -> None:
    """Let a locked refund, whose yes came by an inquiry, be asked about after the bank's day.

    Changes the refund in memory; the caller saves it. A bank reverses no void of its own.
    """
    if refund.method == Method.REFUND:
        schedule.look_at(refund, repayments.day_is_over(refund.attempt, clock.now()))
        refund.no_record_count = 0


def hear(kind: Kind[Any], asked: Refund, refund: Refund, answer: Answer) -> None:
    """Take in the bank's answer about a locked refund that has ended.

    :param asked: as it was before the bank was asked.
    :param answer: "no record" only if it is to be believed.
    """
    case = cases.lock_decided(refund.attempt, operation_id=refund.id)
    is_done = answer is Answer.APPROVED
    if case is not None:
        word = answer if answer in WORDS else None
        compared = Comparison(agrees=is_done == (refund.status == RefundStatus.SUCCEEDED))
        compare_with_decision(kind, refund, case, word, lambda: compared)
    elif asked.status == RefundStatus.SUCCEEDED:
        _hear_once_more(refund, answer)
    elif is_done and refund.status != RefundStatus.SUCCEEDED:
        log.error("refund_done_after_its_end", refund=refund.id, status=refund.status)
        _call_for_person(refund, f"which is {refund.status}")


def _hear_once_more(refund: Refund, answer: Answer) -> None:
    """Take in what the bank says after its day of a refund that it had done before.

    A silent bank is asked again by the schedule.
    """
    if refund.status != RefundStatus.SUCCEEDED:
        return  # Its money came back while the bank was asked.
    if answer is Answer.DECLINED:
        log.error("refund_taken_back", refund=refund.id)
        steps.fail(refund, FailureReason.UNKNOWN)
        return
    if answer is Answer.NO_RECORD:
        _open_case(refund, f"The bank has no record any more of {refund.id}, which it had done.")
    if answer in (Answer.APPROVED, Answer.NO_RECORD):
        schedule.never_look(refund)
    leases.end_with(refund)
    refund.save()


def hear_void(refund: Refund, answer: Answer) -> None:
    """Take in the bank's answer about a void that a locked refund has been before."""
    if answer is Answer.APPROVED:
        log.error("refund_done_another_way", refund=refund.id)
        _call_for_person(refund, "by the void that it was before it became a refund")


def _call_for_person(refund: Refund, state: str) -> None:
    """Open a case about a yes of the bank's that the book has not; payment and attempt are locked.

    :param state: what the refund is instead, as the end of a sentence.
    """
    amount = money.written(refund.amount, refund.currency)
    _open_case(refund, f"The bank has given {amount} back for {refund.id}, {state}.")


def _open_case(refund: Refund, finding: str) -> None:
    cases.open_case(
        CaseKind.BANK_CONTRADICTS_BOOK, refund.attempt, operation_id=refund.id, finding=finding
    )
