"""The bank's later word about an attempt that a person has decided (contract: Cases).

For thirty days the bank is asked once a day. Its word wins in the end: a charge that the person
denied is given back, and one that the person affirmed and the bank denies opens the case again.
The books are not touched then: another person has to look.
"""

from datetime import datetime, timedelta

import structlog

from acquirers.conversation import leases, schedule
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.states import Decision, Kind
from core import clock
from payments.intents import deadlines
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus

# Each question comes a little later than the day before: so the thirtieth still counts.
ASKED_FOR = timedelta(days=30, hours=12)
RELEASED_SINCE = (Answer.VOIDED, Answer.LAPSED)

log = structlog.get_logger(__name__)


def ask_daily(attempt: Attempt) -> None:
    """Let the bank be asked once a day about a locked attempt that a person has just decided."""
    schedule.ask_daily(attempt, clock.now())
    _not_beyond_its_end(attempt)
    attempt.save(update_fields=["inquiry_count", "due_at"])


def hear(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> bool:
    """Lay the bank's answer beside a person's decision; payment and attempt are locked.

    :returns: False if no person has decided about the attempt.
    """
    case = cases.lock_decided(attempt)
    if case is None:
        return False
    leases.end_with(attempt)
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        _ask_again(attempt, case)
    else:
        _compare(intent, attempt, case, outcome)
        _ask_no_more(attempt)
    attempt.save()
    return True


def _compare(intent: PaymentIntent, attempt: Attempt, case: Case, outcome: Outcome) -> None:
    said = f"The bank says {outcome.answer.value}."
    if case.is_open:
        return  # It was opened again.
    if case.decision == Decision.CHARGED:
        _compare_with_charge(intent, attempt, case, outcome, said)
    elif outcome.answer is Answer.APPROVED:
        log.error("decision_contradicted", case=case.id, attempt=attempt.id)
        cases.reopen(case, Kind.UNKNOWN_OUTCOME, f"{said} The charge is given back.")
    else:
        _confirm(attempt, case, said)


def _compare_with_charge(
    intent: PaymentIntent, attempt: Attempt, case: Case, outcome: Outcome, said: str
) -> None:
    if outcome.answer is Answer.APPROVED:
        _keep_numbers(attempt, outcome)
        _confirm(attempt, case, said)
    elif outcome.answer in RELEASED_SINCE and _was_released(intent, attempt):
        _confirm(attempt, case, said)
    else:
        log.error("decision_contradicted", case=case.id, attempt=attempt.id)
        cases.reopen(case, Kind.BANK_CONTRADICTS_BOOK, f"{said} The books are as decided.")


def _confirm(attempt: Attempt, case: Case, said: str) -> None:
    if _is_asked(attempt):  # Once: then the bank is asked no more.
        cases.confirm(case, said)


def _was_released(intent: PaymentIntent, attempt: Attempt) -> bool:
    """Tell whether the money was given back since, or not captured in time: it was held, then."""
    return bool(intent.refunded_minor) or attempt.status != AttemptStatus.SUCCEEDED


def _keep_numbers(attempt: Attempt, outcome: Outcome) -> None:
    # A void or a refund may need them.
    attempt.authorization_code = outcome.authorization_code or attempt.authorization_code
    attempt.network_reference = outcome.network_reference or attempt.network_reference
    numbers = {**(attempt.bank_numbers or {}), **outcome.exchange.numbers}
    attempt.bank_numbers = numbers or None


def _is_asked(attempt: Attempt) -> bool:
    return attempt.due_at is not None


def _ask_again(attempt: Attempt, case: Case) -> None:
    assert case.decided_at is not None  # a_decision_has_a_person_and_a_reason
    if not _is_asked(attempt):
        return
    if _next_at(attempt) > case.decided_at + ASKED_FOR:
        _ask_no_more(attempt)
    else:
        _not_beyond_its_end(attempt)


def _next_at(attempt: Attempt) -> datetime:
    return attempt.due_at or clock.now()


def _ask_no_more(attempt: Attempt) -> None:
    schedule.never_look(attempt)
    _not_beyond_its_end(attempt)


def _not_beyond_its_end(attempt: Attempt) -> None:
    """Let an authorisation that is held become due when it expires, at the latest."""
    if attempt.status == AttemptStatus.AUTHORIZED:
        ends_at = deadlines.expires_at(attempt)
        schedule.look_at(attempt, min(attempt.due_at or ends_at, ends_at))
