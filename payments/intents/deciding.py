"""A person's decision about an attempt whose outcome the bank does not tell (contract: Cases).

It takes the way of a bank's answer: the attempt's lease is held, the bank is asked once more in
that moment, and its word wins; only a silence is replaced by the person's word.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction

from acquirers import slots
from acquirers.in_doubt import answers, leases
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.refusals import BankIsBeingAsked, NotDecidable
from cases.states import ABOUT_MONEY, Decision
from core import context
from merchants import request_logs
from merchants.models import User
from payments.intents import authorization, inquiries, second_word
from payments.intents.models import Attempt
from payments.intents.states import AttemptStatus

DECIDED = "operators.decide_case"  # The name of this work in the request logs.
# A charge that a person denies: nothing is known of the card, so it is no decline.
ANSWERS = {Decision.CHARGED: Answer.APPROVED, Decision.NOT_CHARGED: Answer.NOT_CHARGED}


@dataclass(frozen=True, slots=True)
class Word:
    """A person's word about a case.

    :param decision: CHARGED or NOT_CHARGED.
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


def decide(operator: User, case_id: str, word: Word) -> Decided:
    """Settle an unknown outcome by a person's word, unless the bank has one in this moment.

    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises ReasonUnfit: the reason is too short or too long.
    :raises ResourceMissing: there is no such case.
    :raises NotDecidable: the case asks for no such decision.
    :raises CaseChanged: it was decided, settled or reopened since the operator saw it.
    :raises BankIsBeingAsked: another process is asking the bank about the attempt.
    :raises AcquirerBusy: too many requests of this process ask banks; nothing has happened.
    """
    cases.require_may_resolve(operator)
    text = cases.fit_reason(word.reason)
    case = Case.objects.select_related("attempt", "decided_by").find(case_id)
    cases.require_as_seen(case, word.seen)
    if word.decision not in ABOUT_MONEY or not case.awaits_decision:
        raise NotDecidable
    told = Word(word.decision, text, word.seen)
    with slots.for_merchant(case.merchant_id), request_logs.job(DECIDED):
        return _decide(operator, case, told)


def _decide(operator: User, case: Case, word: Word) -> Decided:
    with _leased(case.attempt) as attempt:
        said = inquiries.ask(attempt)
        return answers.apply_with_retry(
            attempt, lambda: _settle(operator, case.id, word, attempt, said)
        )


@contextmanager
def _leased(row: Attempt) -> Iterator[Attempt]:
    attempt = leases.take(row)
    if attempt is None:
        raise BankIsBeingAsked
    try:
        yield attempt
    finally:
        leases.give_back(attempt)


@transaction.atomic(durable=True)
def _settle(operator: User, case_id: str, word: Word, leased: Attempt, said: Outcome) -> Decided:
    """Apply the bank's answer, and the person's word if it was none; safe to call twice."""
    _intent, attempt = authorization.locked(leased)
    case = cases.locked(case_id)
    cases.require_as_seen(case, word.seen)
    is_open = attempt.status == AttemptStatus.PROCESSING
    if is_open and leases.is_overtaken(leased, attempt):
        raise BankIsBeingAsked  # The new holder may know more.
    authorization.applied(leased, said, request_id=attempt.request_id)
    _intent, attempt = authorization.locked(leased)
    if attempt.status != AttemptStatus.PROCESSING:
        cases.settle(case, f"The bank said {said.answer.value} as it was asked for the decision.")
        return Decided(case, by_bank=True)
    answer = Outcome(ANSWERS[word.decision], exchange=said.exchange)
    authorization.applied(attempt, answer, request_id=context.request_id())
    second_word.ask_daily(authorization.locked(leased)[1])
    cases.decide(case, operator, word.decision, word.reason)
    return Decided(case, by_bank=False)
