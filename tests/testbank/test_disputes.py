"""Disputes at the test bank, from the complaint to each end, with their money and notices."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core import clock
from testbank import behaviours, decisions
from testbank.decisions import Undecidable
from testbank.models import Authorization, Chargeback, Dispute, Evidence, Notice
from testbank.states import DisputeState
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_disputes import (
    DISPUTED,
    INQUIRED,
    NOT_RECEIVED,
    complained,
    disputed,
    told,
    wait,
    wait_for_the_deadline,
    wait_for_the_decision,
)
from tests.stage.bank_orders import (
    accept,
    ask,
    authorize,
    capture,
    end_inquiry,
    notices,
    refund,
    submit,
    void,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WINS, LOSES = "winning_evidence", "losing_evidence"


def receipt(dispute: str, code: str = "00") -> dict[str, Any]:
    result = "on_record" if code == "00" else "refused"
    return {"dispute": dispute, "result": result, "response_code": code}


# --- How they open ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kind", "reason", "code"),
    [
        (DISPUTED, "dispute_opened", "fraudulent", "10.4"),
        (NOT_RECEIVED, "dispute_opened", "product_not_received", "13.1"),
        (INQUIRED, "inquiry_opened", "general", "4853"),
    ],
)
def test_a_card_whose_holder_complains(number: str, kind: str, reason: str, code: str) -> None:
    authorize(number, capture=True)
    assert notices() == []
    clock.advance(behaviours.DISPUTED_AFTER)

    [notice] = notices()

    [row] = Dispute.objects.all()
    due_by = clock.unix(row.created_at) + 10 * 86400 + 3
    assert 0 <= notice.pop("due_by") - due_by < 60
    assert 0 <= notice.pop("at") - clock.unix(row.created_at) < 60
    assert notice == {
        "number": 1,
        "kind": kind,
        "reference": "ref_1",
        "refund_reference": None,
        "dispute": row.reference,
        "amount": 12500,
        "currency": "try",
        "reason": reason,
        "network_reason_code": code,
    }


def test_nobody_complains_before_the_money_is_taken() -> None:
    authorize(DISPUTED)
    clock.advance(behaviours.DISPUTED_AFTER)
    assert notices() == []

    capture(5000)
    clock.advance(behaviours.DISPUTED_AFTER)

    assert [one["amount"] for one in notices()] == [5000]


def test_a_complaint_is_about_what_was_not_refunded() -> None:
    dispute = complained(refunded=5000)

    assert [one["amount"] for one in notices()] == [7500]
    assert disputed(dispute) == (DisputeState.OPEN, 7500, 0, 0)
    assert refund(1)["response_code"] == "13"


@pytest.mark.parametrize("give_back", [void, refund])
def test_after_all_was_given_back_there_is_nothing_to_complain_about(give_back: Any) -> None:
    begin_at_noon()
    authorize(DISPUTED, capture=True)
    give_back()
    clock.advance(behaviours.DISPUTED_AFTER)

    assert notices() == []
    assert Dispute.objects.get().state == DisputeState.DROPPED


def test_the_clock_may_jump_past_everything_before_somebody_looks() -> None:
    authorize(DISPUTED, capture=True)
    wait(timedelta(days=30))

    [notice] = notices()

    assert notice["due_by"] - notice["at"] == 10 * 86400


def test_disputed_money_is_neither_refunded_nor_voided_and_an_inquiry_holds_none() -> None:
    begin_at_noon()
    complained()
    assert (refund()["response_code"], void()["response_code"]) == ("13", "12")

    authorize(INQUIRED, capture=True, reference="ref_2")
    clock.advance(behaviours.DISPUTED_AFTER)
    assert told() == ["dispute_opened", "inquiry_opened"]

    assert refund(5000, "back_2", "ref_2")["response_code"] == "00"


# --- Evidence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text", "state", "kind", "money"),
    [
        (DISPUTED, WINS, DisputeState.WON, "dispute_won", (0, 0, 0)),
        (DISPUTED, LOSES, DisputeState.LOST, "dispute_lost", (12500, 12500, 0)),
        (INQUIRED, WINS, DisputeState.CLOSED, "inquiry_closed", (0, 0, 0)),
        (INQUIRED, LOSES, DisputeState.OPEN, "dispute_escalated", (12500, 0, 0)),
    ],
)
def test_evidence_that_decides_five_seconds_later(
    number: str, text: str, state: str, kind: str, money: tuple[int, int, int]
) -> None:
    dispute = complained(number)

    assert submit(dispute, text) == receipt(dispute)
    assert len(told()) == 1
    wait_for_the_decision()

    assert told()[1:] == [kind]
    assert disputed(dispute) == (state, *money)


@pytest.mark.parametrize("number", [DISPUTED, INQUIRED])
def test_other_evidence_waits_for_a_person(number: str) -> None:
    dispute = complained(number)
    submit(dispute, "We have a receipt.")
    wait(timedelta(days=100))

    assert len(told()) == 1


def test_a_submission_counts_once_and_is_acknowledged_again() -> None:
    dispute = complained()

    assert submit(dispute, "A receipt") == submit(dispute, WINS) == receipt(dispute)
    wait_for_the_decision()

    assert told() == ["dispute_opened"]
    assert Evidence.objects.count() == 1


def test_the_newest_submission_decides() -> None:
    dispute = complained()
    for number, text in enumerate((WINS, LOSES), start=1):
        submit(dispute, text, number)
    wait_for_the_decision()

    assert told()[1:] == ["dispute_lost"]


def test_of_evidence_the_book_keeps_that_it_came_and_no_text() -> None:
    dispute = complained()
    texts = {"customer_name": "4242 4242 4242 4242 Ada", "uncategorized_text": WINS}

    ask({"number": 1, "evidence": texts}, f"/disputes/{dispute}/evidence")

    [row] = Evidence.objects.values("names", "verdict")
    assert row == {"names": "customer_name uncategorized_text", "verdict": "won"}


def test_evidence_may_have_as_many_texts_with_as_long_names_as_can_be_read() -> None:
    dispute = complained()
    texts = {letter * 40: "🧾" * 1000 for letter in "abcdefghijklmnopqrst"}

    status, told_us = ask({"number": 1, "evidence": texts}, f"/disputes/{dispute}/evidence")

    assert (status, told_us) == (200, receipt(dispute))


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        {"number": 0, "evidence": {}},
        {"number": True, "evidence": {}},
        {"number": 1},
        {"number": 1, "evidence": []},
        {"number": 1, "evidence": {"uncategorized_text": 1}},
        {"number": 1, "evidence": {"Other": ""}},
        {"number": 1, "evidence": {f"text_{'a' * count}": "" for count in range(21)}},
    ],
)
def test_malformed_evidence_is_refused(sent: Any) -> None:
    dispute = complained()

    assert ask(sent, f"/disputes/{dispute}/evidence")[0] == 400
    assert not Evidence.objects.exists()


# --- The deadline and acceptance --------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kind", "state", "back"),
    [
        (DISPUTED, "dispute_lost", DisputeState.LOST, 12500),
        (INQUIRED, "inquiry_closed", DisputeState.CLOSED, 0),
    ],
)
def test_without_evidence_it_ends_with_its_deadline(
    number: str, kind: str, state: str, back: int
) -> None:
    dispute = complained(number)
    wait_for_the_deadline()

    assert submit(dispute, WINS) == receipt(dispute, "12")
    assert told()[1:] == [kind]
    assert disputed(dispute) == (state, back, back, 0)


def test_an_acceptance_ends_a_dispute_once() -> None:
    dispute = complained()

    assert accept(dispute) == accept(dispute) == receipt(dispute)
    assert told()[1:] == ["dispute_lost"]
    assert disputed(dispute) == (DisputeState.ACCEPTED, 12500, 12500, 0)


def test_an_inquiry_is_ended_once() -> None:
    dispute = complained(INQUIRED)

    assert end_inquiry(dispute) == end_inquiry(dispute) == receipt(dispute)
    assert told()[1:] == ["inquiry_closed"]
    assert disputed(dispute) == (DisputeState.CLOSED, 0, 0, 0)


def test_an_inquiry_is_not_accepted_and_a_dispute_not_ended() -> None:
    dispute = complained(INQUIRED)

    assert accept(dispute) == receipt(dispute, "12")
    decisions.escalate(dispute)
    assert end_inquiry(dispute) == receipt(dispute, "12")
    assert told() == ["inquiry_opened", "dispute_escalated"]
    assert disputed(dispute) == (DisputeState.OPEN, 12500, 0, 0)


def test_an_acceptance_beside_the_banks_own_word() -> None:
    dispute = complained()
    decisions.lose(dispute)
    assert accept(dispute) == receipt(dispute)
    decisions.regain(dispute)

    assert accept(dispute) == receipt(dispute, "12")
    assert told() == ["dispute_opened", "dispute_lost", "dispute_regained"]


@pytest.mark.parametrize("name", ["0" * 5 + "UNKNOWN", "x" * 30, "ref_1"])
def test_a_dispute_that_the_bank_never_heard_of(name: str) -> None:
    assert submit(name) == receipt(name, "25")
    assert accept(name) == end_inquiry(name) == receipt(name, "25")


def test_a_complaint_that_is_still_to_come_is_unheard_of() -> None:
    authorize(DISPUTED, capture=True)
    [dispute] = Dispute.objects.values_list("reference", flat=True)

    assert accept(dispute) == receipt(dispute, "25")


# --- Decisions of people ----------------------------------------------------------------------


def test_a_lost_dispute_is_regained_and_its_money_free_again() -> None:
    dispute = complained()
    decisions.lose(dispute)
    assert disputed(dispute) == (DisputeState.LOST, 12500, 12500, 0)

    decisions.regain(dispute)

    assert disputed(dispute) == (DisputeState.REGAINED, 0, 12500, 12500)
    assert refund()["result"] == "refunded"


def test_a_won_dispute_is_lost_after_all_and_its_money_goes() -> None:
    dispute = complained()
    decisions.win(dispute)

    decisions.lose(dispute)

    assert disputed(dispute) == (DisputeState.LOST, 12500, 12500, 0)
    assert told() == ["dispute_opened", "dispute_won", "dispute_lost"]
    assert refund()["response_code"] == "13"


def test_a_won_dispute_whose_money_was_refunded_stays_won() -> None:
    dispute = complained()
    decisions.win(dispute)
    refund(5000)

    with pytest.raises(Undecidable, match="7500 are left"):
        decisions.lose(dispute)

    assert disputed(dispute) == (DisputeState.WON, 0, 0, 0)


def test_an_inquiry_is_escalated_with_a_new_deadline_for_what_is_left() -> None:
    dispute = complained(INQUIRED)
    refund(5000)
    wait(timedelta(days=9))
    decisions.escalate(dispute)

    opened, escalated = notices()

    assert (opened["amount"], escalated["amount"]) == (12500, 7500)
    assert escalated["due_by"] - escalated["at"] == 10 * 86400
    assert disputed(dispute) == (DisputeState.OPEN, 7500, 0, 0)


def test_an_inquiry_that_ended_is_escalated_after_all_and_takes_evidence_again() -> None:
    dispute = complained(INQUIRED)
    submit(dispute, "A receipt")
    decisions.end(dispute)
    decisions.escalate(dispute)

    assert submit(dispute, WINS, number=2) == receipt(dispute)
    wait_for_the_decision()
    assert told() == ["inquiry_opened", "inquiry_closed", "dispute_escalated", "dispute_won"]


def test_a_person_disputes_a_part_of_a_payment_twice() -> None:
    authorize(capture=True)

    decisions.dispute("ref_1", reason="duplicate", amount=5000)
    decisions.dispute("ref_1")
    with pytest.raises(Undecidable, match="0 are left"):
        decisions.dispute("ref_1")

    told_of = [(one["reason"], one["amount"]) for one in notices()]
    assert told_of == [("duplicate", 5000), ("fraudulent", 7500)]


def test_a_bounced_refund_comes_back_and_can_be_given_again() -> None:
    authorize(capture=True)
    refund()

    decisions.bounce("back_1")

    [notice] = notices()
    names = ("kind", "refund_reference", "dispute", "amount", "reason", "network_reason_code")
    assert [notice[name] for name in names] == [
        "refund_bounced", "back_1", None, 12500, None, "54",
    ]  # fmt: skip
    assert refund()["result"] == "bounced"
    assert refund(reference="back_2")["result"] == "refunded"


IMPOSSIBLE = [
    ("win", DISPUTED, ["win"]),
    ("win", INQUIRED, []),
    ("lose", INQUIRED, []),
    ("lose", DISPUTED, ["lose"]),
    ("regain", DISPUTED, []),
    ("regain", DISPUTED, ["win"]),
    ("regain", DISPUTED, ["lose", "regain"]),
    ("end", DISPUTED, []),
    ("end", INQUIRED, ["end"]),
    ("escalate", DISPUTED, []),
    ("escalate", INQUIRED, ["escalate"]),
    ("escalate", INQUIRED, ["escalate", "lose"]),
]


@pytest.mark.parametrize(("decision", "number", "before"), IMPOSSIBLE)
def test_what_the_book_does_not_allow(decision: str, number: str, before: list[str]) -> None:
    dispute = complained(number)
    for earlier in before:
        getattr(decisions, earlier)(dispute)
    left = disputed(dispute), len(told())

    with pytest.raises(Undecidable, match="The dispute is"):
        getattr(decisions, decision)(dispute)

    assert (disputed(dispute), len(told())) == left


@pytest.mark.parametrize("name", ["win", "lose", "escalate", "regain", "end"])
def test_nothing_is_decided_about_what_is_not_there(name: str) -> None:
    with pytest.raises(Undecidable, match="knows no such"):
        getattr(decisions, name)("ref_1")


@pytest.mark.parametrize("state", ["nothing", "pending", "refused", "bounced"])
def test_only_money_that_arrived_bounces(state: str) -> None:
    cards = {"pending": "4000000000007726", "refused": "4000001100000074"}
    authorize(cards.get(state, "4242424242424242"), capture=True)
    if state != "nothing":
        refund()
    if state == "bounced":
        decisions.bounce("back_1")

    with pytest.raises(Undecidable):
        decisions.bounce("back_1")


@pytest.mark.parametrize("open_it", [decisions.dispute, decisions.inquiry])
def test_nobody_disputes_what_was_not_taken(open_it: Any) -> None:
    for name in ("ref_1", "ref_2"):
        authorize(reference="ref_2")
        with pytest.raises(Undecidable):
            open_it(name)


def test_nothing_is_left_to_escalate_after_a_refund() -> None:
    dispute = complained(INQUIRED)
    refund()

    with pytest.raises(Undecidable, match="Nothing of the payment is left"):
        decisions.escalate(dispute)
    submit(dispute, LOSES)
    wait_for_the_decision()

    assert told()[1:] == ["inquiry_closed"]


# --- Notices, and what the database itself refuses --------------------------------------------


def test_notices_are_told_behind_a_number_a_page_at_a_time() -> None:
    for number in range(105):
        authorize(reference=f"ref_{number}", capture=True)
        decisions.inquiry(f"ref_{number}")

    first, rest = notices(), notices(100)

    assert [one["number"] for one in first + rest] == [*range(1, 106)]
    assert notices(105) == []


@pytest.mark.parametrize("after", ["-1", "x", "1.0", "9" * 19, "1%00"])
def test_a_malformed_number_is_refused(after: str) -> None:
    assert ask(b"", f"/notices?after={after}", "GET")[0] == 400


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"disputed_amount": 12501}, "bank_gives_back_at_most_what_it_captured"),
        ({"refunded_amount": 1}, "bank_gives_back_at_most_what_it_captured"),
        ({"disputed_amount": -1}, "bank_gives_back_at_most_what_it_captured"),
    ],
)
def test_the_database_refuses_to_give_back_twice(changes: dict[str, Any], guard: str) -> None:
    complained()

    with pytest.raises(IntegrityError, match=guard), transaction.atomic(using="bank"):
        Authorization.objects.update(**changes)


def test_the_database_keeps_disputes_evidence_chargebacks_and_notices() -> None:
    dispute = complained()
    submit(dispute, LOSES)
    wait_for_the_decision()
    notices()

    for rows in (Dispute.objects, Evidence.objects, Chargeback.objects, Notice.objects):
        assert rows.exists()
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic(using="bank"):
            rows.all()._raw_delete("bank")
    for kept in (Evidence.objects, Chargeback.objects, Notice.objects):
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic(using="bank"):
            kept.update(created_at=clock.now())
