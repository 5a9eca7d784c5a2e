"""A person's decision about a refund that the bank leaves unknown (contract: Cases).

It goes the same way as the one about a payment, which `payments.intents.deciding` leads.
"""

from acquirers.conversation import settling
from acquirers.outcomes import Answer, Outcome
from cases.models import Case
from cases.states import Decision
from core import context
from merchants.models import User
from payments.intents import deciding, late_answers
from payments.intents.deciding import GIVEN_BACK, Decided, Question, Word
from payments.refunds import asking, rows
from payments.refunds.models import Refund
from payments.refunds.states import Status


def offered(case: Case) -> tuple[Decision, ...]:
    """Return the decisions that an open case takes: about money, or that it was seen to."""
    return _question(case).offered() if case.awaits_decision else (Decision.ACKNOWLEDGED,)


def decide(operator: User, case_id: str, word: Word) -> Decided:
    """Settle by a person's word what the bank leaves unknown of a payment or a refund.

    It refuses as `payments.intents.deciding.decide` does.
    """
    return deciding.decide(operator, case_id, word, about=_question)


def _question(case: Case) -> Question:
    found = Refund.objects.filter(id=case.operation_id).first()
    return _Refund(found) if found else deciding.question(case)


class _Refund(Question):
    def __init__(self, row: Refund) -> None:
        self.row = row

    def offered(self) -> tuple[Decision, ...]:
        return GIVEN_BACK

    def ask(self) -> Outcome:
        return asking.inquire(self.row)

    def locked(self) -> Refund:
        return rows.locked(self.row)

    def is_open(self, row: Refund) -> bool:
        return row.status == Status.PENDING

    def apply(self, row: Refund, said: Outcome) -> None:
        settling.settled(asking.KIND, row, said)

    def apply_word(self, row: Refund, answer: Answer, said: Outcome) -> None:
        # A refund fails by the bank's refusal; "not charged" would send it again.
        ends = Answer.APPROVED if answer is Answer.APPROVED else Answer.DECLINED
        settling.settled(asking.KIND, row, Outcome(ends), cause=context.request_id())
        late_answers.ask_daily(self.locked())
