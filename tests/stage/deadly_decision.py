"""A process in which an operator decides a case, and dies once as by `kill -9`.

`python -m tests.stage.deadly_decision CASE OPERATOR DECISION VERSION`; `KILL_ONCE` names the file
with the boundary, as for `tests.stage.kill_points`.
"""

import sys

from tests.stage.kill_points import deadly

# isort: split
# Django is set up from here on.
from acquirers.in_doubt import answers
from cases import cases
from cases.states import Decision
from merchants.models import User
from payments.intents import deciding, inquiries, modifications
from payments.intents.deciding import Word
from tests.stage.undecided import DECISIONS_BOUNDARIES, REASON

LEASED, WORKING, ANSWERED, INSIDE, WRITTEN, COMMITTED = DECISIONS_BOUNDARIES


def main(case_id: str, operator: str, decision: str, version: str) -> None:
    inquiries.ask = deadly(deadly(inquiries.ask, WORKING), LEASED)
    modifications.inquire = deadly(deadly(modifications.inquire, WORKING), LEASED)
    answers.apply_with_retry = deadly(answers.apply_with_retry, ANSWERED, then=COMMITTED)
    cases.decide = deadly(cases.decide, INSIDE, then=WRITTEN)
    word = Word(Decision(decision), REASON, int(version))
    deciding.decide(User.objects.get(pk=operator), case_id, word)


if __name__ == "__main__":
    main(*sys.argv[1:])
