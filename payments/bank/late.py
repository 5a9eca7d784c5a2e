"""The bank's late answer about an attempt, a capture or a release that has ended already.

A charge that comes late is given back. The bank may also say late that it captured or released what
was booked as not done: while the book still holds the money, that yes is booked; otherwise a person
has to look. What a person has decided is compared with it (`payments.deciding.comparing`).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from acquirers.conversation import leases, schedule
from acquirers.conversation.kinds import Kind
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.states import CaseDecision, CaseKind
from core import context
from payments.bank import modification_answers, modification_rows, taken_back
from payments.bank.authorization import keep_numbers
from payments.bank.repayments import RELEASED
from payments.deciding.comparing import Comparison, compare_with_decision
from payments.intents import render
from payments.intents.models import Attempt, Modification
from payments.intents.states import (
    SUCCESSFUL_ATTEMPT,
    UNPAID,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    PaymentStatus,
)
from payments.intents.transition import move

SILENT = (Answer.UNKNOWN, Answer.PENDING)
# The answers that say something about a modified order, whichever process has asked.
WORDS = (Answer.APPROVED, Answer.LAPSED, Answer.NO_RECORD)
RELEASES = (ModificationKind.VOID, ModificationKind.FALL_BACK, ModificationKind.REVERSE)
RELEASED_SINCE = (Answer.VOIDED, Answer.LAPSED)

log = structlog.get_logger(__name__)


def hear_charge(kind: Kind[Any], asked: Attempt, attempt: Attempt, outcome: Outcome) -> None:
    """Take in the bank's answer about a locked attempt that has ended; its payment is locked, too.

    :param asked: as it was before the bank was asked: money may have been captured since.
    :param outcome: "no record" only if it is to be believed.
    """
    _reverse_if_late(attempt, outcome)
    is_of_before = attempt.status in SUCCESSFUL_ATTEMPT and attempt.status != asked.status
    known = replace(outcome, answer=Answer.UNKNOWN) if is_of_before else outcome
    taken_back.hear(attempt, known)
    case = cases.lock_decided(attempt)
    if case is None:
        taken_back.hear_denial(attempt, known)
        _ask_no_longer_than_needed(kind, attempt, known)
        return
    word = None if outcome.answer in SILENT else outcome.answer
    compare = partial(_compare_charge, attempt, case, outcome)
    compare_with_decision(kind, attempt, case, word, compare)


def hear_modification(
    kind: Kind[Any], asked: Modification, row: Modification, outcome: Outcome
) -> None:
    """Take in the bank's answer about a locked row that has ended; payment and attempt are locked.

    :param asked: as it was before the bank was asked: the money may have gone back since.
    :param outcome: "no record" only if it is to be believed.
    """
    is_of_before = outcome.is_from_inquiry and asked.attempt.status != row.attempt.status
    said = Answer.UNKNOWN if is_of_before else outcome.answer
    is_done_since = row.status == ModificationStatus.FAILED and _is_done(row, said)
    is_anothers = is_done_since and _is_anothers(row, outcome)
    is_late = is_done_since and not is_anothers
    is_booked = is_late and _booked(row, outcome)
    # While the bank is asked for something else, its yes is neither booked nor a contradiction yet.
    is_followed = is_late and not is_booked and modification_rows.has_open(row.attempt)
    case = cases.lock_decided(row.attempt, operation_id=row.id)
    if row.kind == ModificationKind.CAPTURE and said is Answer.APPROVED:
        _keep_the_captures_numbers(row.attempt, outcome)
    if case is not None:
        is_word = said in WORDS and not is_anothers and not is_followed
        compare = partial(_compare_modification, row, case, said, is_booked=is_booked)
        compare_with_decision(kind, row, case, said if is_word else None, compare)
        return
    if is_late and not is_booked and not is_followed:
        _open_case(row, f"The bank says {said.value} to the {row.kind} {row.id}, which had failed.")
    elif asked.status == ModificationStatus.SUCCEEDED and _is_undone(row, said):
        _open_case(row, f"The bank says {said.value} of {row.refund_reference}, which it had done.")
    _ask_about_it_no_longer(row, Answer.UNKNOWN if is_followed else said)


# --- Charges ----------------------------------------------------------------------------------


def _reverse_if_late(attempt: Attempt, outcome: Outcome) -> None:
    """Begin to reverse a charge that the bank made although the attempt had closed without one.

    The sweeper asks the bank for it, until it has given the money back.
    """
    was_authorized = attempt.authorization_code or attempt.status in SUCCESSFUL_ATTEMPT
    if outcome.answer is not Answer.APPROVED or was_authorized or _is_reversed(attempt):
        return
    modification_rows.leave_to_sweeper(
        attempt, ModificationKind.REVERSE, request_id=attempt.request_id
    )
    cases.open_case(CaseKind.LATE_SUCCESS_REVERSED, attempt)
    log.error("attempt_charged_late", attempt=attempt.id)


def _ask_no_longer_than_needed(kind: Kind[Any], attempt: Attempt, outcome: Outcome) -> None:
    """Let the bank be asked about an attempt that has ended until it is known what it holds."""
    if attempt.due_at is None and attempt.lease_until is None:
        return
    if outcome.answer not in SILENT:
        schedule.never_look(attempt)
    ends_at = kind.look_by(attempt)
    if ends_at is not None:
        schedule.look_at(attempt, min(attempt.due_at or ends_at, ends_at))
    leases.end_with(attempt)
    attempt.save()


def _is_reversed(attempt: Attempt) -> bool:
    rows = attempt.modifications.filter(kind=ModificationKind.REVERSE)
    return rows.exclude(status=ModificationStatus.FAILED).exists()


def _compare_charge(attempt: Attempt, case: Case, outcome: Outcome) -> Comparison:
    is_charged = outcome.answer is Answer.APPROVED
    if case.decision == CaseDecision.NOT_CHARGED:
        return Comparison(not is_charged, "The charge is given back.")
    if is_charged:
        attempt.authorization_code = outcome.authorization_code or attempt.authorization_code
        attempt.network_reference = outcome.network_reference or attempt.network_reference
        keep_numbers(attempt, outcome)
    return Comparison(is_charged or (outcome.answer in RELEASED_SINCE and _was_released(attempt)))


def _was_released(attempt: Attempt) -> bool:
    """Return whether the money was given back since, or not captured in time: it was held, then."""
    return bool(attempt.intent.refunded_minor) or attempt.status != AttemptStatus.SUCCEEDED


# --- Captures and releases --------------------------------------------------------------------


def _is_anothers(row: Modification, outcome: Outcome) -> bool:
    """Return whether the yes to a failed row is explained by what has succeeded since.

    An inquiry shows the order alone. More captured money than is booked is a yes to both captures.
    """
    if not outcome.is_from_inquiry:
        return False
    attempt = row.attempt
    done = attempt.modifications.filter(status=ModificationStatus.SUCCEEDED)
    if row.kind == ModificationKind.CAPTURE:
        is_booked = done.filter(kind=row.kind).exists()
        return is_booked and (outcome.captured or 0) <= attempt.captured_minor
    # The bank releases the whole order, which a refund of a part does not explain.
    is_refunded = 0 < attempt.captured_minor <= attempt.intent.refunded_minor
    return done.filter(kind__in=RELEASES).exists() or is_refunded


def _is_done(row: Modification, answer: Answer) -> bool:
    if row.kind == ModificationKind.CAPTURE:
        return answer is Answer.APPROVED
    return answer in RELEASED


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


def _effect(row: Modification, outcome: Outcome) -> PaymentStatus:
    if row.kind == ModificationKind.CAPTURE:
        status = modification_answers.capture(row, outcome)
        taken_back.look_once_more(row.attempt, outcome)
        row.attempt.save(update_fields=["due_at", "no_record_count"])
        return status
    return modification_answers.cancel(row.attempt.intent, row.attempt, row.reason)


def _keep_the_captures_numbers(attempt: Attempt, outcome: Outcome) -> None:
    """Keep them of a capture that was booked before the bank said so: a refund may need them."""
    keep_numbers(attempt, outcome, operation="capture.")
    attempt.save(update_fields=["bank_numbers"])


def _ask_about_it_no_longer(row: Modification, said: Answer) -> None:
    """End the questions about a row that was asked about after its end, if the bank has said."""
    if row.due_at is None and row.lease_until is None:
        return
    if said not in SILENT:
        schedule.never_look(row)
    leases.end_with(row)
    row.save()


def _is_undone(row: Modification, answer: Answer) -> bool:
    """Return whether the refund by which a late charge went back is not there any more."""
    return row.refund_reference is not None and answer in (Answer.DECLINED, Answer.NO_RECORD)


def _open_case(row: Modification, finding: str) -> None:
    log.error("modification_contradicted", modification=row.id)
    cases.open_case(
        CaseKind.BANK_CONTRADICTS_BOOK, row.attempt, operation_id=row.id, finding=finding
    )


def _compare_modification(
    row: Modification, case: Case, answer: Answer, *, is_booked: bool
) -> Comparison:
    if _agrees(row, case, answer):
        return Comparison(agrees=True)
    if is_booked:
        return Comparison(agrees=False, remedy="It is booked.")
    if case.decision == CaseDecision.RELEASED and _release(row):
        return Comparison(agrees=False, remedy="It is asked to release the money.")
    return Comparison(agrees=False)


def _agrees(row: Modification, case: Case, answer: Answer) -> bool:
    is_done = _is_done(row, answer)
    if case.decision in (CaseDecision.NOT_CHARGED, CaseDecision.NOT_RELEASED):
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
