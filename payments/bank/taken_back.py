"""Approvals that the bank has taken back by itself, and what follows from it.

A bank reverses an approval whose answer did not arrive, at the end of its day at the latest. So one
that was learnt by an inquiry is asked about once more after that end. Money that is back on the
card is none of the merchant's: the books follow, and an operator gets a case.
"""

from collections.abc import Callable

import structlog

import acquirers
from acquirers.conversation import schedule
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.states import CaseKind
from core import clock, context, money
from core.registry import Registry
from payments.bank import modification_answers, modification_rows, repayments
from payments.intents import render
from payments.intents.models import Attempt
from payments.intents.states import EXPIRED, SUCCESSFUL_ATTEMPT, AttemptStatus
from payments.intents.transition import move

RELEASED_SINCE = (Answer.VOIDED, Answer.LAPSED)
# A bank keeps what it has reversed: without it a person has to look.
DENIALS = (Answer.NO_RECORD, Answer.DECLINED)

# Books captured money that the bank has given back; returns a sentence for the case, None if it is
# known already.
Booking = Callable[[Attempt], str | None]
BOOKINGS: Registry[Booking] = Registry("booking of money taken back")

log = structlog.get_logger(__name__)


def register(booking: Booking) -> None:
    """Let the room of refunds book captured money; called in `AppConfig.ready()`."""
    BOOKINGS.add(f"{booking.__module__}.{booking.__qualname__}", booking)


def look_once_more(attempt: Attempt, outcome: Outcome) -> None:
    """Let a locked attempt be asked about after the bank's day, if its yes came by an inquiry.

    Changes the attempt in memory; the caller saves it.
    """
    if outcome.answer is Answer.APPROVED and outcome.is_from_inquiry:
        after = repayments.day_is_over(attempt, clock.now())
        schedule.look_at(attempt, min(after, attempt.due_at or after))
        attempt.no_record_count = 0


def hear(attempt: Attempt, outcome: Outcome) -> None:
    """Correct the books of a locked attempt that has its money, if the bank has it no more.

    Payment and attempt are locked. Does nothing while the bank is asked for a release of ours.
    """
    is_over = attempt.status not in SUCCESSFUL_ATTEMPT or modification_rows.has_open(attempt)
    if is_over or not _is_taken_back(attempt, outcome):
        return
    is_held = attempt.status == AttemptStatus.AUTHORIZED
    findings = [_cancel(attempt)] if is_held else [book(attempt) for book in BOOKINGS.values()]
    for finding in filter(None, findings):
        log.error("approval_taken_back", attempt=attempt.id)
        cases.open_case(CaseKind.REVERSED_BY_BANK, attempt, finding=finding)


def hear_denial(attempt: Attempt, outcome: Outcome) -> None:
    """Open a case about a locked attempt that has its money, if the bank denies its approval."""
    if attempt.status in SUCCESSFUL_ATTEMPT and outcome.answer in DENIALS:
        finding = f"The bank says {outcome.answer.value} of an approval that it gave before."
        cases.open_case(CaseKind.BANK_CONTRADICTS_BOOK, attempt, finding=finding)


def _is_taken_back(attempt: Attempt, outcome: Outcome) -> bool:
    """Return whether the bank has released the order, or shows it without its capture."""
    if outcome.answer in RELEASED_SINCE:
        return True
    is_captured = attempt.status == AttemptStatus.SUCCEEDED
    is_shown = outcome.answer is Answer.APPROVED and outcome.captured == 0
    return is_captured and is_shown and acquirers.of(attempt).capabilities.inquires_modifications


def _cancel(attempt: Attempt) -> str:
    intent = attempt.intent
    before, amount = render.payment_intent(intent), intent.authorized_minor
    status = modification_answers.cancel(intent, attempt, EXPIRED)
    move(intent, status, before, request_id=context.request_id())
    written = money.written(amount, attempt.currency)
    return f"The bank has released the authorised {written} by itself: the payment is canceled."
