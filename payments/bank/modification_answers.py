"""The consequences of the bank's answers to captures, voids and reversals."""

from acquirers.conversation import schedule
from acquirers.declines import PROCESSING_ERROR
from acquirers.outcomes import NEVER_AT_THE_BANK, NEVER_SENT, Answer, Outcome
from cases import cases
from cases.states import CaseKind
from core import clock
from payments.bank import authorization, modification_rows, reversals
from payments.bank.modification_rows import close
from payments.bank.repayments import RELEASED, day_is_over
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import (
    EXPIRED,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    PaymentStatus,
)


def apply(modification: Modification, outcome: Outcome) -> PaymentStatus:
    """Write the answer's consequences into the locked rows; return the payment's next status.

    :param outcome: "no record" only if it is to be believed.
    """
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        return _still_unknown(modification)
    match modification.kind:
        case ModificationKind.CAPTURE:
            return _captured(modification, outcome)
        case ModificationKind.VOID:
            return _voided(modification, outcome)
        case ModificationKind.FALL_BACK:
            return _fallen_back(modification, outcome)
    return _reversed(modification, outcome)


def release_refused(modification: Modification, *, goes_on: bool) -> Modification | None:
    """Begin to release what the bank has refused to capture (contract 3, capture).

    :param goes_on: the asker asks for the release, too; otherwise the sweeper does.
    :returns: the release, its lease held; None if the asker has nothing more to ask.
    """
    is_refused = modification.ended_with(Answer.DECLINED)
    if modification.kind != ModificationKind.CAPTURE or not is_refused:
        return None
    attempt, cause = modification.attempt, modification.request_id
    if goes_on:
        return modification_rows.begin(attempt, ModificationKind.FALL_BACK, request_id=cause)
    modification_rows.leave_to_sweeper(attempt, ModificationKind.FALL_BACK, request_id=cause)
    return None


def capture(modification: Modification, outcome: Outcome) -> PaymentStatus:
    """Write into payment, attempt and ledger that the bank has captured the money."""
    attempt, intent = modification.attempt, modification.attempt.intent
    amount = outcome.captured or modification.amount or 0
    status = authorization.take_money(intent, attempt, amount)
    authorization.keep_numbers(attempt, outcome, operation="capture.")
    attempt.save()
    return status


def cancel(intent: PaymentIntent, attempt: Attempt, reason: str | None) -> PaymentStatus:
    """Write that the bank holds nothing any more, and why the payment is canceled."""
    authorization.end_unpaid(attempt, AttemptStatus.CANCELED)
    attempt.save()
    return authorization.cancel(intent, reason)


def _still_unknown(modification: Modification) -> PaymentStatus:
    schedule.ask_later(modification)
    # A release that no merchant asked for stays invisible to them until it is done.
    is_ours = modification.kind == ModificationKind.REVERSE or modification.reason == EXPIRED
    return (
        PaymentStatus(modification.attempt.intent.status) if is_ours else PaymentStatus.PROCESSING
    )


def _captured(modification: Modification, outcome: Outcome) -> PaymentStatus:
    attempt, intent = modification.attempt, modification.attempt.intent
    if outcome.answer is Answer.APPROVED:
        close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
        return capture(modification, outcome)
    close(modification, ModificationStatus.FAILED, outcome.answer)
    if outcome.answer is Answer.DECLINED:
        attempt.error = authorization.error_of(attempt, PROCESSING_ERROR, outcome)
        attempt.save()
        return PaymentStatus(intent.status)
    if outcome.answer is Answer.LAPSED:
        return cancel(intent, attempt, EXPIRED)
    return _not_done(attempt)


def _voided(modification: Modification, outcome: Outcome) -> PaymentStatus:
    attempt = modification.attempt
    if outcome.answer in RELEASED:
        close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
        return cancel(attempt.intent, attempt, modification.reason)
    close(modification, ModificationStatus.FAILED, outcome.answer)
    _look_for_the_capture(attempt, outcome)
    return _not_done(attempt)


def _fallen_back(modification: Modification, outcome: Outcome) -> PaymentStatus:
    attempt, intent = modification.attempt, modification.attempt.intent
    if outcome.answer in NEVER_AT_THE_BANK:
        return _still_unknown(modification)
    if outcome.answer not in RELEASED:
        close(modification, ModificationStatus.FAILED, outcome.answer)
        _look_for_the_capture(attempt, outcome)
        return _not_done(attempt)
    close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
    if outcome.answer is Answer.LAPSED:
        # The bank says that the authorisation has expired (contract 3). That is no failure of the
        # card, so the payment does not ask for another one.
        attempt.error = None
        return cancel(intent, attempt, EXPIRED)
    status = authorization.fail(intent, attempt, AttemptStatus.FAILED)
    attempt.save()
    return status


def _look_for_the_capture(attempt: Attempt, outcome: Outcome) -> None:
    """Let the bank be asked about a failed capture once a release has failed as well.

    It may have captured the money since: its yes to the inquiry is booked as a late one. A release
    that is refused as too late says so by itself; otherwise a capture without record is doubtful.
    """
    if outcome.answer in NEVER_SENT:
        return
    captures = attempt.modifications.filter(kind=ModificationKind.CAPTURE)
    is_settled = outcome.answer is Answer.SETTLED
    doubtful = captures if is_settled else captures.filter(answer=Answer.NO_RECORD.value)
    if failed := doubtful.select_for_update().order_by("created_at").last():
        schedule.ask_anew(failed, clock.now())
        failed.save()
    elif is_settled:
        finding = "The bank has captured money that it was not asked to capture."
        cases.open_case(CaseKind.BANK_CONTRADICTS_BOOK, attempt, finding=finding)


def _reversed(modification: Modification, outcome: Outcome) -> PaymentStatus:
    if outcome.answer not in RELEASED:
        _still_unknown(modification)
        reversals.go_on(modification, outcome)
        return PaymentStatus(modification.attempt.intent.status)
    close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
    if modification.refund_reference and outcome.is_from_inquiry:
        # The bank takes a refund back whose answer did not arrive.
        schedule.look_at(modification, day_is_over(modification.attempt, clock.now()))
        modification.no_record_count = 0
    return PaymentStatus(modification.attempt.intent.status)


def _not_done(attempt: Attempt) -> PaymentStatus:
    if attempt.error is not None:
        attempt.error = None
        attempt.save()
    return PaymentStatus.REQUIRES_CAPTURE
