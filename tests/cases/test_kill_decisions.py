"""kill -9 of a process at each boundary of a decision: all of it is there, or nothing (I8)."""

import signal
from collections.abc import Iterator

import pytest
from django.test import override_settings

from cases.models import Case, CaseChange
from cases.refusals import BankIsBeingAsked
from cases.states import CaseDecision
from merchants.models import AuditEntry, User
from payments.intents.models import Modification
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.client import ApiClient
from tests.stage.kills import PROOF_OF_KILLS, Installation, until
from tests.stage.lengths import length, one_of_all
from tests.stage.processes import run
from tests.stage.undecided import (
    DECISIONS_BOUNDARIES,
    an_operator,
    attempt_of,
    dead_capture,
    decide,
    silent_case,
)

pytestmark = PROOF_OF_KILLS

# The bank of these payments never answers: so long each question takes.
SHORT = {"ACQUIRER_TIMEOUT_SECONDS": "1"}
ENDS = {
    CaseDecision.CHARGED: ("succeeded", ["created", "processing", "succeeded"], 12500),
    CaseDecision.NOT_CHARGED: ("failed", ["created", "processing", "payment_failed"], 0),
}


BEFORE_THE_COMMIT = DECISIONS_BOUNDARIES[-2]


@pytest.fixture(autouse=True)
def _short_questions() -> Iterator[None]:
    with override_settings(ACQUIRER_TIMEOUT_SECONDS=1.0):
        yield


def dies_deciding(installation: Installation, case: Case, by: User, decision: CaseDecision) -> None:
    arguments = (case.id, str(by.pk), decision.value, str(case.version))
    settings = {**installation.settings, **SHORT}
    ended, said = run("-m", "tests.stage.deadly_decision", *arguments, **settings)
    assert (ended, installation.once.exists()) == (-signal.SIGKILL, False), said


def decided_rows() -> tuple[int, int]:
    entries = AuditEntry.objects.filter(action="case.decided").count()
    return entries, CaseChange.objects.filter(act="decided").count()


@pytest.mark.parametrize(
    ("boundary", "decision"),
    one_of_all(DECISIONS_BOUNDARIES, ENDS, short=(BEFORE_THE_COMMIT, CaseDecision.CHARGED)),
)
def test_after_a_kill_a_decision_is_whole_or_can_be_taken_again(
    boundary: str, decision: CaseDecision, installation: Installation, acme: ApiClient
) -> None:
    case, operator = silent_case(acme), an_operator()
    installation.start(boundary)
    dies_deciding(installation, case, operator, decision)

    case.refresh_from_db()
    is_done = boundary == DECISIONS_BOUNDARIES[-1]
    assert case.status == ("resolved" if is_done else "open")
    assert decided_rows() == ((1, 1) if is_done else (0, 0))
    if not is_done:
        assert attempt_of(case).status == "processing"
        until(lambda: is_decided(operator, case, decision))

    status, told, booked = ENDS[decision]
    assert (attempt_of(case).status, acme.told(case.intent_id)) == (status, told)
    assert (decided_rows(), acme.pending()) == ((1, 1), booked)
    assert_our_own_books_agree()


@pytest.mark.parametrize("boundary", length(short=[BEFORE_THE_COMMIT], full=DECISIONS_BOUNDARIES))
def test_after_a_kill_a_decision_about_a_capture_is_whole_or_can_be_taken_again(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    case, operator = dead_capture(acme), an_operator()
    installation.start(boundary)
    dies_deciding(installation, case, operator, CaseDecision.CHARGED)

    case.refresh_from_db()
    if boundary == DECISIONS_BOUNDARIES[-1]:
        assert decided_rows() == (1, 1)
    else:
        assert (case.status, decided_rows(), acme.pending()) == ("open", (0, 0), 0)
        assert Modification.objects.get().status == "processing"
        until(lambda: is_decided(operator, case, CaseDecision.CHARGED))

    assert (Modification.objects.get().status, attempt_of(case).status) == ("succeeded",) * 2
    # That the bank did not say when it was asked is told too.
    told = ["created", "amount_capturable_updated", "processing", "succeeded"]
    assert acme.told(case.intent_id) == told
    assert (decided_rows(), acme.pending()) == ((1, 1), 12500)
    assert_our_own_books_agree()


def is_decided(operator: User, case: Case, decision: CaseDecision) -> bool:
    try:
        decide(operator, case, decision)
    except BankIsBeingAsked:
        return False  # The dead process's lease has not run out.
    return True
