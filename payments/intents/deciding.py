"""A person's decision about what the bank does not tell (contract: Cases).

It may be about an authorisation, or about a capture or a release. It takes the way of a bank's
answer: the row's lease is held, the bank is asked once more in that moment, and its word wins;
only a silence is replaced by the person's word.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import transaction

from acquirers import slots
from acquirers.conversation import answers, leases, settling
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.refusals import BankIsBeingAsked, NotDecidable
from cases.states import Decision
from core import context
from merchants import request_logs
from merchants.models import User
from payments.intents import (
    attempts,
    authorization,
    late_answers,
    modification_rows,
    modifications,
    second_word,
)
from payments.intents.models import Attempt, Modification
from payments.intents.modification_effects import EXPIRED
from payments.intents.states import AttemptStatus, ModificationKind, ModificationStatus

DECIDED = "operators.decide_case"  # The name of this work in the request logs.
# A charge that a person denies: nothing is known of the card, so it is no decline.
ANSWERS = {
    Decision.CHARGED: Answer.APPROVED,
    Decision.NOT_CHARGED: Answer.NOT_CHARGED,
    Decision.RELEASED: Answer.APPROVED,
    Decision.NOT_RELEASED: Answer.NOT_CHARGED,
}
ABOUT_CHARGE = (Decision.CHARGED, Decision.NOT_CHARGED)
GIVEN_BACK = (Decision.RELEASED, Decision.NOT_RELEASED)
# Of a release that the service itself wants, and goes on asking for until it is done.
ABOUT_RELEASE = (Decision.RELEASED,)


class Question(Protocol):
    """A row that a case is about, and the ways of the bank's and a person's words to it.

    :param row: as it was read when its lease was taken.
    """

    row: Any

    def offered(self) -> tuple[Decision, ...]:
        """Return the decisions that a person may take."""

    def ask(self) -> Outcome:
        """Inquire at the bank, which changes nothing there; no transaction is open."""

    def locked(self) -> Any:
        """Return the row as it is now, locked after its payment and attempt."""

    def is_open(self, row: Any) -> bool:
        """Tell whether the bank has not ended it."""

    def apply(self, row: Any, said: Outcome) -> None:
        """Apply the bank's answer, in the caller's transaction."""

    def apply_word(self, row: Any, answer: Answer, said: Outcome) -> None:
        """Apply a person's word as an answer, and let the bank be asked daily from now on."""


About = Callable[[Case], Question]


@dataclass(frozen=True, slots=True)
class Word:
    """A person's word about a case.

    :param decision: one of those that the case's question offers.
    :param reason: 10 to 1000 characters.
    :param seen: the case's version that the person saw.
    """

    decision: Decision
    reason: str
    seen: int


@dataclass(frozen=True, slots=True)
class Decided:
    """The case as the decision left it.

    :param by_bank: the bank had an answer in the same moment, and the person's word was not used.
    """

    case: Case
    by_bank: bool


def decide(operator: User, case_id: str, word: Word, *, about: About | None = None) -> Decided:
    """Settle what is unknown by a person's word, unless the bank has one in this moment.

    :param about: makes the question of a case, for the rooms above that have cases of their own.
    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises ReasonUnfit: the reason is too short or too long.
    :raises ResourceMissing: there is no such case.
    :raises NotDecidable: the case asks for no such decision.
    :raises CaseChanged: it was decided, settled or reopened since the operator saw it.
    :raises BankIsBeingAsked: another process is asking the bank about it.
    :raises AcquirerBusy: too many requests of this process ask banks; nothing has happened.
    """
    cases.require_may_resolve(operator)
    text = cases.fit_reason(word.reason)
    case = Case.objects.select_related("attempt", "decided_by").find(case_id)
    cases.require_as_seen(case, word.seen)
    asked = (about or question)(case) if case.awaits_decision else None
    if asked is None or word.decision not in asked.offered():
        raise NotDecidable
    told = Word(word.decision, text, word.seen)
    with slots.for_merchant(case.merchant_id), request_logs.job(DECIDED):
        return _decide(operator, case, told, asked)


def _decide(operator: User, case: Case, word: Word, asked: Question) -> Decided:
    with _leased(asked.row) as row:
        asked.row = row
        said = asked.ask()
        return answers.apply_with_retry(row, lambda: _settle(operator, case.id, word, asked, said))


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
def _settle(operator: User, case_id: str, word: Word, asked: Question, said: Outcome) -> Decided:
    """Apply the bank's answer, and the person's word if it was none; safe to call twice."""
    now = asked.locked()
    case = cases.locked(case_id)
    cases.require_as_seen(case, word.seen)
    if asked.is_open(now) and leases.is_overtaken(asked.row, now):
        raise BankIsBeingAsked  # The new holder may know more.
    asked.apply(asked.row, said)
    now = asked.locked()
    if not asked.is_open(now):
        cases.settle(case, f"The bank said {said.answer.value} as it was asked for the decision.")
        return Decided(case, by_bank=True)
    asked.apply_word(now, ANSWERS[word.decision], said)
    cases.decide(case, operator, word.decision, word.reason)
    return Decided(case, by_bank=False)


class _Authorization(Question):
    def __init__(self, row: Attempt) -> None:
        self.row = row

    def offered(self) -> tuple[Decision, ...]:
        return ABOUT_CHARGE

    def ask(self) -> Outcome:
        return attempts.KIND.ask(self.row)

    def is_open(self, row: Attempt) -> bool:
        return row.status == AttemptStatus.PROCESSING

    def locked(self) -> Attempt:
        return authorization.locked(self.row)[1]

    def apply(self, row: Attempt, said: Outcome) -> None:
        settling.settled(attempts.KIND, row, said)

    def apply_word(self, row: Attempt, answer: Answer, said: Outcome) -> None:
        told = Outcome(answer, exchange=said.exchange)
        settling.settled(attempts.KIND, row, told, cause=context.request_id())
        second_word.ask_daily(self.locked())


class _Modification(Question):
    def __init__(self, row: Modification) -> None:
        self.row = row

    def offered(self) -> tuple[Decision, ...]:
        if self.row.kind == ModificationKind.CAPTURE:
            return ABOUT_CHARGE
        is_merchants = self.row.kind == ModificationKind.VOID and self.row.reason != EXPIRED
        return GIVEN_BACK if is_merchants else ABOUT_RELEASE

    def ask(self) -> Outcome:
        return modifications.inquire(self.row)

    def is_open(self, row: Modification) -> bool:
        return row.status == ModificationStatus.PROCESSING

    def locked(self) -> Modification:
        return modification_rows.locked(self.row)

    def apply(self, row: Modification, said: Outcome) -> None:
        settling.settled(modifications.KIND, row, said)

    def apply_word(self, row: Modification, answer: Answer, said: Outcome) -> None:
        # Without the exchange, which was an inquiry and is written down: nothing was sent since.
        settling.settled(modifications.KIND, row, Outcome(answer), cause=context.request_id())
        late_answers.ask_daily(self.locked())


def question(case: Case) -> Question:
    """Return the question that a case asks about an authorisation, a capture or a release."""
    if case.operation_id is None:
        return _Authorization(case.attempt)
    return _Modification(Modification.objects.get(id=case.operation_id))
