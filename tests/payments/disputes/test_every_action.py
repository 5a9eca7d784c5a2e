"""Every action is tried in every state of a dispute; one table holds the right answers."""

import re

import pytest

from payments.disputes.states import DISPUTES, DisputeStatus
from tests.stage.complaints import STARTS, TEXT, Complaint, Story

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# A status: the dispute has it now. same: nothing has changed but what was given. refused and late:
# the refusals below. kept: the bank's notice is not applied, and stays for a person to see.
MERCHANTS_ACTIONS = """
                             metadata  evidence  submit                close
needs_response               same      same      under_review          lost
… past its due date          same      late      late                  lost
under_review                 same      refused   refused               refused
… past its due date          same      late      late                  refused
won                          same      refused   refused               refused
lost                         same      refused   refused               refused
warning_needs_response       same      same      warning_under_review  warning_closed
… past its due date          same      late      late                  warning_closed
warning_under_review         same      refused   refused               warning_closed
warning_closed               same      refused   refused               refused
"""
OTHERS_ACTIONS = """
                        due date        opened          inquiry  escalated       won   lost  closed
needs_response          lost            same            same     same            won   lost  kept
under_review            same            same            same     same            won   lost  kept
won                     same            same            same     same            same  lost  kept
lost                    same            same            same     same            won   same  kept
warning_needs_response  warning_closed  needs_response  same     needs_response  kept  kept  warning_closed
warning_under_review    warning_closed  needs_response  same     needs_response  kept  kept  warning_closed
warning_closed          same            needs_response  same     needs_response  kept  kept  same
"""  # noqa: E501
PAST_DUE = "… past its due date"
REFUSALS = {
    (400, "dispute_unexpected_state", None): "refused",
    (400, "evidence_past_due", None): "late",
}
ACTIONS: dict[str, Story] = {
    "metadata": lambda c: c.note(case="7"),
    "evidence": lambda c: c.evidence(refund_policy="None."),
    "submit": lambda c: c.submit(refund_policy="None."),
    "close": lambda c: c.close(),
    "due date": lambda c: c.days_pass().jobs_run(),
    "opened": lambda c: c.opened(),
    "inquiry": lambda c: c.inquired(),
    "escalated": lambda c: c.escalated(),
    "won": lambda c: c.won(),
    "lost": lambda c: c.lost(),
    "closed": lambda c: c.told("inquiry_closed"),
}
CHANGE_NO_STATUS = ("metadata", "evidence")
BANKS_WORDS = ("opened", "inquiry", "escalated", "won", "lost", "closed")


def parsed(table: str) -> tuple[list[str], list[tuple[str, bool, list[str]]]]:
    """Return the actions, and by row the state, whether it is past its due date, and answers."""
    header, *lines = [re.split(r"  +", line) for line in table.strip("\n").splitlines()]
    rows, state = [], ""
    for name, *answers in lines:
        state = state if name == PAST_DUE else name
        rows.append((state, name == PAST_DUE, answers))
    return header[1:], rows


def said(complaint: Complaint, action: str) -> str:
    """Do it, and come back to before; return what the tables above call the answer."""
    began, shown = complaint.status, complaint.shown()
    with complaint.rehearsal():
        answer = ACTIONS[action](complaint).answered
        if answer is not None and answer.status != 200:
            assert answer.error["dispute"] == shown == complaint.shown()
            return REFUSALS[answer.refusal]
        if action in BANKS_WORDS and complaint.is_notice_kept:
            assert complaint.shown() == shown
            return "kept"
        moves = complaint.moves()
        if complaint.status == began:
            assert complaint.shown() == shown or action in CHANGE_NO_STATUS
            return "same"
        assert (moves[-1].before, moves[-1].after) == (began, complaint.status)
        assert complaint.events()[-1]["data"]["object"] == complaint.shown()
        return complaint.status


MERCHANTS, MERCHANTS_ROWS = parsed(MERCHANTS_ACTIONS)
OTHERS, OTHERS_ROWS = parsed(OTHERS_ACTIONS)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("state", "is_past_due", "answers"), MERCHANTS_ROWS)
def test_every_action_of_the_merchant_in_every_state(
    state: str, is_past_due: bool, answers: list[str], complaint: Complaint
) -> None:
    STARTS[state](complaint)
    if is_past_due:
        complaint.days_pass()

    assert [said(complaint, action) for action in MERCHANTS] == answers


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("state", "_is_past_due", "answers"), OTHERS_ROWS)
def test_every_word_of_the_bank_and_the_due_date_in_every_state(
    state: str, _is_past_due: bool, answers: list[str], complaint: Complaint
) -> None:
    STARTS[state](complaint)
    complaint.answered = None

    assert [said(complaint, action) for action in OTHERS] == answers


def test_the_tables_have_every_state_and_every_action() -> None:
    assert {state for state, _is_past_due, _answers in MERCHANTS_ROWS} == {*DisputeStatus}
    assert [state for state, _is_past_due, _answers in OTHERS_ROWS] == [*DisputeStatus]
    assert {*MERCHANTS, *OTHERS} == ACTIONS.keys()


def test_the_tables_go_every_way_that_is_listed_and_no_other() -> None:
    ways = {
        (state, answer)
        for state, _is_past_due, answers in (*MERCHANTS_ROWS, *OTHERS_ROWS)
        for answer in answers
        if answer in {*DisputeStatus}
    }

    assert ways == DISPUTES.pairs


def test_a_dispute_in_each_state_is_shown_with_its_evidence(complaint: Complaint) -> None:
    STARTS[DisputeStatus.UNDER_REVIEW](complaint)

    assert complaint.shown()["evidence"]["uncategorized_text"] == TEXT["uncategorized_text"]
