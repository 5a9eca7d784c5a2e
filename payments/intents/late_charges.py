"""The bank's word about an attempt that has ended already: a late charge is given back."""

import structlog

from acquirers.conversation import leases, schedule
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.states import Kind
from payments.intents import modification_rows, second_word
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import (
    SUCCESSFUL_ATTEMPT,
    UNPAID,
    ModificationKind,
    ModificationStatus,
)

log = structlog.get_logger(__name__)


def hear(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> None:
    """Take in the bank's word about a locked attempt that has ended.

    :param outcome: "no record" only if it is to be believed.
    """
    _reverse_if_late(attempt, outcome)
    if not second_word.hear(intent, attempt, outcome):
        _ask_no_longer_than_needed(attempt, outcome)


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
    cases.open_case(Kind.LATE_SUCCESS_REVERSED, attempt)
    log.error("attempt_charged_late", attempt=attempt.id)


def _ask_no_longer_than_needed(attempt: Attempt, outcome: Outcome) -> None:
    """Let the bank be asked about an attempt that ended unpaid until it is known what it holds."""
    if attempt.due_at is None or attempt.status not in UNPAID:
        return
    if outcome.answer not in (Answer.UNKNOWN, Answer.PENDING):
        schedule.never_look(attempt)
    leases.end_with(attempt)
    attempt.save()


def _is_reversed(attempt: Attempt) -> bool:
    rows = attempt.modifications.filter(kind=ModificationKind.REVERSE)
    return rows.exclude(status=ModificationStatus.FAILED).exists()
