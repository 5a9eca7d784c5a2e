"""A process in which an operator decides a case, and dies once as by `kill -9`.

`python -m tests.stage.deadly_decision CASE OPERATOR DECISION VERSION`; `KILL_ONCE` names the file
with the boundary, as for `tests.stage.deadly`.
"""

import sys

import django

django.setup()

from acquirers.conversation import settling  # noqa: E402
from cases import cases  # noqa: E402
from cases.states import CaseDecision  # noqa: E402
from merchants.models import User  # noqa: E402
from payments.bank import attempts, modifications  # noqa: E402
from payments.deciding import decisions  # noqa: E402
from payments.deciding.decisions import GivenDecision  # noqa: E402
from tests.stage.deadly import deadly  # noqa: E402
from tests.stage.undecided import DECISIONS_BOUNDARIES, REASON  # noqa: E402

LEASED, WORKING, ANSWERED, INSIDE, WRITTEN, COMMITTED = DECISIONS_BOUNDARIES


def main(case_id: str, operator: str, decision: str, version: str) -> None:
    attempts.KIND.ask = deadly(deadly(attempts.KIND.ask, WORKING), LEASED)  # type: ignore[method-assign]
    asked = deadly(deadly(modifications.KIND.inquire, WORKING), LEASED)
    modifications.KIND.inquire = asked  # type: ignore[method-assign]
    settling.apply_with_retry = deadly(settling.apply_with_retry, ANSWERED, then=COMMITTED)
    cases.decide = deadly(cases.decide, INSIDE, then=WRITTEN)
    word = GivenDecision(CaseDecision(decision), REASON, int(version))
    decisions.decide(User.objects.get(pk=operator), case_id, word)


if __name__ == "__main__":
    main(*sys.argv[1:])
