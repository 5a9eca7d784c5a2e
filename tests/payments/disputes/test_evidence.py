"""Evidence: merged, bounded, never a card's number, never too late (contract-money, Dispute)."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from payments.disputes import tasks
from payments.disputes.models import Dispute
from tests.stage.complaints import PATH, TEXT, Complaint
from tests.stage.factories import GOOD_CARD

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LONGEST = 20_000


@pytest.fixture
def opened(complaint: Complaint) -> Complaint:
    return complaint.opened()


def given(complaint: Complaint) -> dict[str, str]:
    """Return the evidence that is shown, without the keys that are null."""
    return {key: text for key, text in complaint.shown()["evidence"].items() if text is not None}


def refusal(complaint: Complaint) -> tuple[int, str, str | None]:
    return complaint.answered.refusal


# --- Merged -----------------------------------------------------------------------------------


def test_evidence_is_given_key_by_key(opened: Complaint) -> None:
    opened.evidence(customer_name="Ayşe Yılmaz", service_date="2026-11-01")
    opened.evidence(service_date="2026-11-02", refund_policy="None.")

    assert given(opened) == {
        "customer_name": "Ayşe Yılmaz",
        "service_date": "2026-11-02",
        "refund_policy": "None.",
    }
    assert opened.shown()["evidence_details"]["has_evidence"] is True
    assert opened.shown()["evidence_details"]["submission_count"] == 0


@pytest.mark.parametrize("nothing", [None, "", "   "])
def test_an_empty_text_clears_its_key_alone(opened: Complaint, nothing: str | None) -> None:
    opened.evidence(customer_name="Ayşe Yılmaz", refund_policy="None.")

    opened.evidence(customer_name=nothing)

    assert given(opened) == {"refund_policy": "None."}
    told = opened.events()[-1]["data"]["previous_attributes"]
    assert told == {"evidence": {"customer_name": "Ayşe Yılmaz"}}


def test_null_clears_all_of_it(opened: Complaint) -> None:
    opened.evidence().post("", {"evidence": None})

    assert given(opened) == {}
    assert opened.shown()["evidence_details"]["has_evidence"] is False


def test_evidence_that_is_there_already_is_not_told(opened: Complaint) -> None:
    opened.evidence().evidence()

    assert [event["type"] for event in opened.events()] == ["dispute.created", "dispute.updated"]


def test_evidence_is_given_by_a_form_too(opened: Complaint) -> None:
    raw = b"evidence[customer_name]=Ay%C5%9Fe&evidence[refund_policy]=&submit=true"

    answer = opened.shop.post(
        f"{PATH}/{opened.id}", raw, content_type="application/x-www-form-urlencoded"
    )

    assert (answer["status"], given(opened)) == ("under_review", {"customer_name": "Ayşe"})


# --- Submitted --------------------------------------------------------------------------------


def test_evidence_is_given_and_submitted_in_one_call_and_one_event(opened: Complaint) -> None:
    opened.submit(refund_policy="None.")

    assert opened.status == "under_review"
    assert opened.events()[-1]["data"]["previous_attributes"] == {
        "status": "needs_response",
        "evidence": {"refund_policy": None},
        "evidence_details": {"has_evidence": False, "submission_count": 0},
    }


def test_evidence_that_was_given_before_is_submitted(opened: Complaint) -> None:
    opened.evidence().post("", {"submit": True})

    assert (opened.status, given(opened)) == ("under_review", TEXT)


@pytest.mark.parametrize(
    "body", [{"submit": True}, {"submit": True, "evidence": {"customer_name": ""}}]
)
def test_nothing_is_not_submitted(opened: Complaint, body: dict[str, Any]) -> None:
    opened.post("", body, idempotency_key="k")

    assert refusal(opened) == (400, "parameter_missing", "evidence")
    assert (opened.status, len(opened.events())) == ("needs_response", 1)


def test_what_is_cleared_with_its_submission_is_not_submitted(opened: Complaint) -> None:
    opened.evidence(customer_name="Ayşe").post("", {"evidence": None, "submit": True})

    assert refusal(opened) == (400, "parameter_missing", "evidence")
    assert given(opened) == {"customer_name": "Ayşe"}


# --- Bad input --------------------------------------------------------------------------------


def test_twenty_thousand_characters_are_taken(opened: Complaint) -> None:
    opened.evidence(uncategorized_text="ş" * LONGEST)

    assert opened.answered.status == 200


def test_one_character_more_over_two_updates_is_refused(opened: Complaint) -> None:
    opened.evidence(uncategorized_text="ş" * (LONGEST - 1)).evidence(customer_name="Ay")

    assert refusal(opened) == (400, "parameter_invalid", "evidence")
    assert "customer_name" not in given(opened)
    opened.evidence(customer_name="A")
    assert opened.answered.status == 200


def test_a_text_may_be_replaced_by_one_as_long(opened: Complaint) -> None:
    opened.evidence(uncategorized_text="a" * LONGEST)

    opened.evidence(uncategorized_text="", access_activity_log="b" * LONGEST)

    assert given(opened) == {"access_activity_log": "b" * LONGEST}


@pytest.mark.parametrize(
    ("evidence", "refused"),
    [
        ({"uncategorized_text": "a" * (LONGEST + 1)}, "evidence[uncategorized_text]"),
        ({"uncategorized_text": 7}, "evidence[uncategorized_text]"),
        ({"uncategorized_text": ["a"]}, "evidence[uncategorized_text]"),
        ({"uncategorized_text": True}, "evidence[uncategorized_text]"),
        ("a text", "evidence"),
        (["a"], "evidence"),
        ("", "evidence"),
    ],
)
def test_what_is_no_text_is_refused(opened: Complaint, evidence: Any, refused: str) -> None:
    opened.post("", {"evidence": evidence})

    assert refusal(opened) == (400, "parameter_invalid", refused)


@pytest.mark.parametrize("submit", ["true", 1, "yes", []])
def test_submit_is_true_or_false(opened: Complaint, submit: Any) -> None:
    opened.post("", {"evidence": TEXT, "submit": submit})

    assert refusal(opened) == (400, "parameter_invalid", "submit")
    assert given(opened) == {}


def test_a_key_that_there_is_not_is_refused(opened: Complaint) -> None:
    opened.evidence(receipt="file_1")

    assert refusal(opened) == (400, "parameter_unknown", "evidence[receipt]")


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "text",
    [
        GOOD_CARD,
        f"paid with {GOOD_CARD}.",
        "4242 4242-4242 4242",
        "４２４２４２４２４２４２４２４２",
    ],
)
def test_a_card_number_is_not_evidence(opened: Complaint, text: str) -> None:
    opened.evidence(access_activity_log=text)

    refused = (400, "card_data_not_allowed", "evidence[access_activity_log]")
    assert refusal(opened) == refused
    assert given(opened) == {}


def test_a_nul_is_no_text(opened: Complaint) -> None:
    opened.evidence(customer_name="Ay\x00şe")

    assert refusal(opened) == (400, "body_invalid", "evidence[customer_name]")


def test_half_of_a_character_is_no_text(opened: Complaint) -> None:
    raw = b'{"evidence": {"customer_name": "\\ud800"}}'

    answer = opened.shop.post(f"{PATH}/{opened.id}", raw)

    assert answer.refusal == (400, "body_invalid", "evidence[customer_name]")


# --- Too late ---------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{"evidence": TEXT}, {"submit": True}, {"evidence": None}])
@pytest.mark.parametrize("has_job_run", [False, True])
def test_evidence_after_the_due_date_is_too_late(
    opened: Complaint, body: dict[str, Any], has_job_run: bool
) -> None:
    opened.evidence().days_pass()
    if has_job_run:
        tasks.close_overdue()

    opened.post("", body)

    assert refusal(opened) == (400, "evidence_past_due", None)
    assert opened.answered.error["dispute"] == opened.shown()


def test_a_refusal_for_the_time_is_the_answer_to_each_retry(opened: Complaint) -> None:
    opened.days_pass().post("", {"evidence": TEXT}, idempotency_key="k")
    first = opened.answered

    opened.post("", {"evidence": TEXT}, idempotency_key="k")

    assert opened.answered.body == first.body
    assert opened.answered.headers["Idempotent-Replayed"] == "true"


def test_the_last_moment_is_early_enough(opened: Complaint) -> None:
    clock.advance(opened.row.evidence_due_by - clock.now() - timedelta(minutes=1))

    opened.submit()

    assert opened.status == "under_review"


def test_submitted_evidence_is_not_late_any_more(opened: Complaint) -> None:
    opened.submit().days_pass().jobs_run()

    assert opened.status == "under_review"
    assert Dispute.objects.get().is_past_due is False
