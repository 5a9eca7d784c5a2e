"""The bank's later answer about a row that a person has decided (contract: Cases).

For thirty days the bank is asked once a day. Its answer wins in the end: if it agrees, it
confirms the case; if it contradicts, it opens the case again for another person.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import structlog

from acquirers.conversation import leases, schedule
from acquirers.conversation.kinds import Kind
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Answer
from cases import cases
from cases.models import Case
from cases.states import CaseKind
from core import clock

# Each question comes a little later than the day before: so the thirtieth still counts.
ASKED_FOR = timedelta(days=30, hours=12)

log = structlog.get_logger(__name__)


class Comparison(NamedTuple):
    """The bank's answer, compared with a person's decision.

    :param remedy: a sentence about what follows by itself where they differ; None if the books stay
        as decided.
    """

    agrees: bool
    remedy: str | None = None


def ask_daily(kind: Kind[Any], row: InDoubt) -> None:
    """Let the bank be asked once a day about a locked row that a person has just decided."""
    schedule.ask_daily(row, clock.now())
    _look_in_time(kind, row)
    row.save(update_fields=["inquiry_count", "due_at"])


def compare_with_decision(
    kind: Kind[Any],
    row: InDoubt,
    case: Case,
    answer: Answer | None,
    compare: Callable[[], Comparison],
) -> None:
    """Compare the bank's answer with a person's decision; ask no more once there is one.

    :param row: locked; it is saved.
    :param answer: the bank's answer about the order; None if it says nothing that is believed.
    :param compare: changes the row in memory where the answer has more consequences.
    """
    leases.end_with(row)
    if answer is not None:
        if not case.is_open:  # Otherwise it was opened again.
            _confirm_or_reopen(row, case, answer, compare())
        schedule.never_look(row)
    elif row.due_at is not None and row.due_at > _asked_until(case):
        schedule.never_look(row)
    _look_in_time(kind, row)
    row.save()


def _confirm_or_reopen(row: InDoubt, case: Case, answer: Answer, compared: Comparison) -> None:
    said = f"The bank says {answer.value}."
    if compared.agrees:
        if row.due_at is not None:  # Once: then the bank is asked no more.
            cases.confirm(case, said)
        return
    log.error("decision_contradicted", case=case.id, row=str(row))
    if compared.remedy:
        cases.reopen(case, CaseKind.UNKNOWN_OUTCOME, f"{said} {compared.remedy}")
    else:
        cases.reopen(case, CaseKind.BANK_CONTRADICTS_BOOK, f"{said} The books are as decided.")


def _asked_until(case: Case) -> Any:
    assert case.decided_at is not None  # a_decision_has_a_person_and_a_reason
    return case.decided_at + ASKED_FOR


def _look_in_time(kind: Kind[Any], row: InDoubt) -> None:
    """Let a row that becomes due for another reason be looked at by then, at the latest."""
    ends_at = kind.look_by(row)
    if ends_at is not None:
        schedule.look_at(row, min(row.due_at or ends_at, ends_at))
