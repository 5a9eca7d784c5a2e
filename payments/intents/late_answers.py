"""The bank's word about a capture or a release that has ended already.

The bank may say late that it did what was booked as not done. While the book still holds the
money, that yes is booked; otherwise a person has to look. What a person has decided is asked about
once a day for thirty days, and the bank's word wins in the end (contract: Cases).
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import structlog

from acquirers.conversation import leases, schedule
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.states import Decision
from cases.states import Kind as CaseKind
from core import clock, context
from payments.intents import modification_effects, modification_rows, render
from payments.intents.models import Modification
from payments.intents.repayments import RELEASED
from payments.intents.second_word import ASKED_FOR
from payments.intents.states import (
    UNPAID,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    Status,
)
from payments.intents.transition import move

# The answers that say something about the order, whoever has asked.
WORDS = (Answer.APPROVED, Answer.LAPSED, Answer.NO_RECORD)

log = structlog.get_logger(__name__)


def ask_daily(row: InDoubt) -> None:
    """Let the bank be asked once a day about a locked row that a person has just decided."""
    schedule.ask_daily(row, clock.now())
    row.save(update_fields=["inquiry_count", "due_at"])


def hear(row: Modification, outcome: Outcome) -> None:
    """Take in the bank's word about a locked row that has ended; payment and attempt are locked.

    :param outcome: "no record" only if it is to be believed.
    """
    is_late = _is_done(row, outcome.answer) and row.status == ModificationStatus.FAILED
    is_booked = is_late and _booked(row, outcome)
    case = cases.lock_decided(row.attempt, operation_id=row.id)
    if case is not None:
        said = outcome.answer
        compare = partial(_compare, row, case, said, is_booked=is_booked)
        lay_beside(row, case, is_word=said in WORDS, compare=compare)
    elif is_late and not is_booked:
        _open_case(row, outcome.answer)


def _is_done(row: Modification, answer: Answer) -> bool:
    """Tell whether the bank says that it did what it was asked for."""
    if row.kind == ModificationKind.CAPTURE:
        return answer is Answer.APPROVED
    return answer in RELEASED


# --- A late yes -------------------------------------------------------------------------------


def _booked(row: Modification, outcome: Outcome) -> bool:
    """Book a late yes, if the book still holds the money and the bank is asked for nothing else.

    :returns: False if nothing was booked.
    """
    attempt, intent = row.attempt, row.attempt.intent
    if attempt.status != AttemptStatus.AUTHORIZED or modification_rows.has_open(attempt):
        return False
    before = render.payment_intent(intent)
    status = _effect(row, outcome)
    modification_rows.close(row, ModificationStatus.SUCCEEDED, outcome.answer)
    row.save()
    log.error("modification_done_late", modification=row.id)
    move(intent, status, before, request_id=row.request_id or context.request_id())
    return True


def _effect(row: Modification, outcome: Outcome) -> Status:
    if row.kind == ModificationKind.CAPTURE:
        return modification_effects.capture(row, outcome)
    return modification_effects.cancel(row.attempt.intent, row.attempt, row.reason)


def _open_case(row: Modification, answer: Answer) -> None:
    """Call for a person, unless the bank is being asked for something else that will tell."""
    if modification_rows.has_open(row.attempt):
        return
    log.error("modification_contradicted", modification=row.id)
    cases.open_case(
        CaseKind.BANK_CONTRADICTS_BOOK, row.attempt, operation_id=row.id,
        finding=f"The bank says {answer.value} to the {row.kind} {row.id}, which had failed.",
    )  # fmt: skip


# --- What a person has decided ----------------------------------------------------------------


def lay_beside(row: InDoubt, case: Case, *, is_word: bool, compare: Callable[[], None]) -> None:
    """Lay the bank's answer beside a person's decision; ask no more once there is a word.

    :param row: locked; it is saved.
    :param is_word: the bank has said something about the order, and is believed.
    :param compare: confirms the case, or opens it again.
    """
    leases.end_with(row)
    if is_word:
        if not case.is_open:  # Otherwise it was opened again.
            compare()
        schedule.never_look(row)
    elif row.due_at is not None and row.due_at > _asked_until(case):
        schedule.never_look(row)
    row.save()


def _asked_until(case: Case) -> datetime:
    assert case.decided_at is not None  # a_decision_has_a_person_and_a_reason
    return case.decided_at + ASKED_FOR


def _compare(row: Modification, case: Case, answer: Answer, *, is_booked: bool) -> None:
    said = f"The bank says {answer.value}."
    if _agrees(row, case, answer):
        if row.due_at is not None or is_booked:  # Once: then the bank is asked no more.
            cases.confirm(case, said)
        return
    log.error("decision_contradicted", case=case.id, modification=row.id)
    if is_booked:
        cases.reopen(case, CaseKind.UNKNOWN_OUTCOME, f"{said} It is booked.")
    elif case.decision == Decision.RELEASED and _release(row):
        cases.reopen(case, CaseKind.UNKNOWN_OUTCOME, f"{said} It is asked to release the money.")
    else:
        cases.reopen(case, CaseKind.BANK_CONTRADICTS_BOOK, f"{said} The books are as decided.")


def _agrees(row: Modification, case: Case, answer: Answer) -> bool:
    is_done = _is_done(row, answer)
    if case.decision in (Decision.NOT_CHARGED, Decision.NOT_RELEASED):
        return not is_done
    # Captured money that was given back since is released at the bank.
    is_returned = answer is Answer.LAPSED and bool(row.attempt.intent.refunded_minor)
    return is_done or is_returned


def _release(row: Modification) -> bool:
    """Let the sweeper release what the bank still holds for a payment that is over.

    :returns: False if the payment is not over, or another release is under way.
    """
    attempt = row.attempt
    if attempt.status not in UNPAID or modification_rows.has_open(attempt):
        return False
    modification_rows.leave_to_sweeper(attempt, ModificationKind.REVERSE, request_id=row.request_id)
    cases.open_case(CaseKind.LATE_SUCCESS_REVERSED, attempt)
    return True
