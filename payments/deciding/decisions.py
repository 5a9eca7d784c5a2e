"""A person's decision about a row with no answer from the bank (contract: Cases).

It takes the way of a bank's answer: the row's lease is held, the bank is asked once more in that
moment, and its answer wins. Only a silence is replaced by the person's decision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction

from acquirers import slots
from acquirers.conversation import kinds, leases, settling
from acquirers.conversation.kinds import Kind
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Answer, Outcome
from api import request_logs
from cases import cases
from cases.models import Case
from cases.refusals import BankIsBeingAsked, NotDecidable
from cases.states import CaseDecision
from core import context
from merchants.models import User
from payments.deciding import comparing

DECIDED = "operators.decide_case"  # The name of this work in the request logs.
# A charge that a person denies: nothing is known of the card, so it is no decline.
ANSWERS = {
    CaseDecision.CHARGED: Answer.APPROVED,
    CaseDecision.NOT_CHARGED: Answer.NOT_CHARGED,
    CaseDecision.RELEASED: Answer.APPROVED,
    CaseDecision.NOT_RELEASED: Answer.NOT_CHARGED,
}


class Undecided(NamedTuple):
    """The row that a case is about."""

    kind: Kind[Any]
    row: Any


@dataclass(frozen=True, slots=True)
class GivenDecision:
    """A person's decision on a case, with its reason.

    :param decision: one of those that `offered` returns.
    :param reason: 10 to 1000 characters.
    :param seen: the case's version that the person saw.
    """

    decision: CaseDecision
    reason: str
    seen: int


@dataclass(frozen=True, slots=True)
class Decided:
    """The case as the decision left it.

    :param by_bank: the bank answered in the same moment, and the person's decision was not used.
    """

    case: Case
    by_bank: bool


def offered(case: Case) -> tuple[CaseDecision, ...]:
    """Return the decisions that an open case takes: about money, or that it was seen to."""
    if not case.awaits_decision:
        return (CaseDecision.ACKNOWLEDGED,)
    about = _about(case)
    return tuple(CaseDecision(value) for value in about.kind.decisions(about.row))


def decide(operator: User, case_id: str, given: GivenDecision) -> Decided:
    """Settle an unknown outcome by a person's decision, unless the bank now answers.

    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises ReasonUnfit: the reason is too short or too long.
    :raises ResourceMissing: there is no such case.
    :raises NotDecidable: the case asks for no such decision.
    :raises CaseChanged: it was decided, settled or reopened since the operator saw it.
    :raises BankIsBeingAsked: another process is asking the bank about it.
    :raises AcquirerBusy: too many requests of this process ask banks; nothing has happened.
    """
    cases.require_may_resolve(operator)
    fit = GivenDecision(given.decision, cases.fit_reason(given.reason), given.seen)
    case = Case.objects.select_related("decided_by").find(case_id)
    cases.require_as_seen(case, given.seen)
    if not case.awaits_decision:
        raise NotDecidable
    kind, row = _about(case)
    if given.decision not in kind.decisions(row):
        raise NotDecidable
    with slots.for_merchant(case.merchant_id), request_logs.job(DECIDED), _leased(row) as ours:
        said, asked = kind.inquire(ours), Undecided(kind, ours)
        return settling.apply_with_retry(ours, lambda: _settle(operator, case.id, fit, asked, said))


def _about(case: Case) -> Undecided:
    """Return the row that a case is about: its id says of which kind it is."""
    row_id = case.operation_id or case.attempt_id
    kind = kinds.of_id(row_id)
    return Undecided(kind, kind.model._default_manager.get(pk=row_id))


@contextmanager
def _leased(row: InDoubt) -> Iterator[InDoubt]:
    ours = leases.take(row)
    if ours is None:
        raise BankIsBeingAsked
    try:
        yield ours
    finally:
        leases.give_back(ours)


@transaction.atomic(durable=True)
def _settle(
    operator: User, case_id: str, given: GivenDecision, asked: Undecided, said: Outcome
) -> Decided:
    """Apply the bank's answer, or else the person's decision; safe to call twice."""
    kind, row = asked
    now = kind.facts(row, Outcome(Answer.UNKNOWN)).row  # Payment, attempt and row are locked.
    case = cases.locked(case_id)
    cases.require_as_seen(case, given.seen)
    if now.closed_at is None and leases.is_overtaken(row, now):
        raise BankIsBeingAsked  # The new holder may know more.
    now = settling.settled(kind, row, said).row
    if now.closed_at is not None:
        cases.settle(case, f"The bank said {said.answer.value} as it was asked for the decision.")
        return Decided(case, by_bank=True)
    outcome = kind.outcome_of(ANSWERS[given.decision], said)
    now = settling.settled(kind, now, outcome, cause=context.request_id()).row
    comparing.ask_daily(kind, now)
    cases.decide(case, operator, given.decision, given.reason)
    return Decided(case, by_bank=False)
