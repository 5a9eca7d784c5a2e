"""Disputes as the API shows, lists, finds and expands them (contract-money, contract 3 and 7)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from merchants.models import RequestLog
from tests.stage.client import ApiClient
from tests.stage.complaints import PATH, Complaint
from tests.stage.hooks import limited

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Another = Callable[..., Complaint]
FIELDS = [
    "id", "object", "amount", "currency", "payment_intent", "attempt", "status", "reason",
    "network_reason_code", "evidence_due_by", "evidence_details", "evidence",
    "is_payment_refundable", "metadata", "created", "livemode",
]  # fmt: skip
EVIDENCE = [
    "product_description", "customer_name", "customer_email_address", "customer_purchase_ip",
    "billing_address", "shipping_address", "shipping_carrier", "shipping_date",
    "shipping_tracking_number", "service_date", "refund_policy", "cancellation_policy",
    "access_activity_log", "uncategorized_text",
]  # fmt: skip


# --- One dispute ------------------------------------------------------------------------------


def test_a_dispute_shows_its_fields_in_their_order(complaint: Complaint) -> None:
    complaint.opened()
    paid = complaint.shop.payment(complaint.payment_id)

    shown = complaint.shop.get(f"{PATH}/{complaint.id}")

    assert list(shown.body) == FIELDS
    assert list(shown["evidence"]) == EVIDENCE
    assert set(shown["evidence"].values()) == {None}
    assert (shown["payment_intent"], shown["attempt"]) == (paid["id"], paid["latest_attempt"])
    assert (shown["amount"], shown["currency"], shown["status"]) == (12500, "try", "needs_response")
    assert (shown["reason"], shown["network_reason_code"]) == ("fraudulent", "10.4")
    assert shown["evidence_due_by"] == shown["evidence_details"]["due_by"]
    assert shown["evidence_details"] == {
        "due_by": shown["evidence_due_by"],
        "has_evidence": False,
        "past_due": False,
        "submission_count": 0,
    }


def test_a_reason_that_nobody_knows_is_general(complaint: Complaint) -> None:
    complaint.opened(reason="the moon", network_reason_code=None)

    assert (complaint.shown()["reason"], complaint.shown()["network_reason_code"]) == (
        "general", None,
    )  # fmt: skip


def test_a_due_date_that_the_bank_does_not_tell_is_a_week_after_the_beginning(
    complaint: Complaint,
) -> None:
    complaint.opened(due_by=None, at=clock.now() - timedelta(days=3))

    left = complaint.row.evidence_due_by - complaint.row.created_at
    assert abs(left - timedelta(days=4)) < timedelta(seconds=5)


def test_the_opening_is_told_once_by_a_job_of_its_own(complaint: Complaint) -> None:
    complaint.opened().opened()

    [created] = complaint.events()
    assert (created["type"], created["data"]["object"]) == ("dispute.created", complaint.shown())
    cause = RequestLog.objects.get(id=created["request_id"])
    assert (cause.kind, cause.path) == ("job", "acquirers.notices.tasks.take_in")
    assert (cause.object_id, cause.merchant_id) == (complaint.id, complaint.shop.merchant.id)


def test_a_payment_tells_nothing_of_its_dispute_but_what_can_be_refunded(
    complaint: Complaint,
) -> None:
    told = complaint.shop.told(complaint.payment_id)

    complaint.opened(amount=500)

    assert complaint.shop.told(complaint.payment_id) == told
    paid = complaint.shop.payment(complaint.payment_id)
    assert (paid["amount_refundable"], paid["refunded_minor"], paid["status"]) == (
        12000, 0, "succeeded",
    )  # fmt: skip


def test_metadata_changes_in_every_state_and_is_told(complaint: Complaint) -> None:
    complaint.opened().note(case="7").note(case="8", clerk="Ada")

    assert complaint.shown()["metadata"] == {"case": "8", "clerk": "Ada"}
    assert [event["type"] for event in complaint.events()[1:]] == ["dispute.updated"] * 2
    last = complaint.events()[-1]["data"]["previous_attributes"]
    assert last == {"metadata": {"case": "7", "clerk": None}}


def test_a_change_that_changes_nothing_is_not_told(complaint: Complaint) -> None:
    complaint.opened().note(case="7").note(case="7")
    complaint.post("", {}).post("", {"evidence": {}, "submit": False, "metadata": {"case": "7"}})

    assert complaint.answered.status == 200
    assert len(complaint.events()) == 2


def test_an_answer_is_the_dispute_as_its_event_told_it(complaint: Complaint) -> None:
    complaint.opened().submit()

    event = complaint.events()[-1]
    assert complaint.answered.body == event["data"]["object"] == complaint.shown()
    assert event["request_id"] == complaint.answered.headers["Request-Id"]


@pytest.mark.parametrize("door", ["", "/close"])
def test_a_parameter_that_there_is_not_is_refused(door: str, complaint: Complaint) -> None:
    complaint.opened().post(door, {"colour": "blue"})

    assert complaint.answered.refusal == (400, "parameter_unknown", "colour")
    assert complaint.status == "needs_response"


# --- Lists ------------------------------------------------------------------------------------


@pytest.fixture
def four(another: Another) -> list[Complaint]:
    """Four disputes of different amounts, reasons, states and due dates, oldest first."""
    begins = [
        another().opened(amount=300, due_by=clock.now() + timedelta(days=3)),
        another().opened(amount=100, reason="duplicate", due_by=clock.now() + timedelta(days=1)),
        another().inquired(amount=400, due_by=clock.now() + timedelta(days=4)),
        another().opened(amount=200, reason="duplicate", due_by=clock.now() + timedelta(days=2)),
    ]
    begins[1].lost()
    return begins


def places(four: list[Complaint], query: str) -> list[int]:
    """Return which of the four a list shows, in its order."""
    answer = four[0].shop.get(f"{PATH}?{query}")
    assert answer.status == 200, answer.body
    ids = [one.id for one in four]
    return [ids.index(row["id"]) for row in answer["data"]]


LISTS: dict[str, list[int]] = {
    "": [3, 2, 1, 0],
    "sort=created": [0, 1, 2, 3],
    "sort=amount": [1, 3, 0, 2],
    "sort=-amount&limit=2": [2, 0],
    "sort=evidence_due_by": [1, 3, 0, 2],
    "sort=-evidence_due_by": [2, 0, 3, 1],
    "status=lost": [1],
    "status[]=lost&status[]=warning_needs_response": [2, 1],
    "reason=duplicate": [3, 1],
    "reason=duplicate&status=needs_response": [3],
    "created[gte]=1&created[lt]=9999999999": [3, 2, 1, 0],
    "created[gt]=9999999999": [],
}


def test_disputes_are_listed_filtered_and_sorted(four: list[Complaint]) -> None:
    assert {query: places(four, query) for query in LISTS} == LISTS


def test_disputes_are_filtered_by_their_due_date(four: list[Complaint]) -> None:
    due = four[3].shown()["evidence_due_by"]

    assert places(four, f"evidence_due_by={due}") == [3]
    assert places(four, f"evidence_due_by[lte]={due}&sort=evidence_due_by") == [1, 3]
    assert places(four, f"evidence_due_by[gt]={due}") == [2, 0]
    assert places(four, f"evidence_due_by[gte]={due}&evidence_due_by[lt]={due + 1}") == [3]


def test_disputes_are_filtered_by_their_payment(four: list[Complaint]) -> None:
    assert places(four, f"payment_intent={four[2].payment_id}") == [2]


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ("payment_intent=pi_unknown", (404, "resource_missing", "payment_intent")),
        ("starting_after=dp_unknown", (404, "resource_missing", "starting_after")),
        ("status=open", (400, "parameter_invalid", "status")),
        ("reason=moon", (400, "parameter_invalid", "reason")),
        ("reason[]=general", (400, "parameter_invalid", "reason[]")),
        ("evidence_due_by=soon", (400, "parameter_invalid", "evidence_due_by")),
        ("evidence_due_by[in]=1", (400, "parameter_invalid", "evidence_due_by[in]")),
        ("amount=1", (400, "parameter_invalid", "amount")),
        ("sort=reason", (400, "parameter_invalid", "sort")),
        ("q=dp_1", (400, "parameter_invalid", "q")),
        ("expand[]=customer", (400, "parameter_invalid", "expand[]")),
    ],
)
def test_a_query_that_means_nothing_is_refused(
    query: str, refusal: tuple[Any, ...], acme: ApiClient
) -> None:
    assert acme.get(f"{PATH}?{query}").refusal == refusal


def test_a_foreign_payment_finds_no_disputes(four: list[Complaint], globex: ApiClient) -> None:
    foreign = globex.get(f"{PATH}?payment_intent={four[0].payment_id}")

    assert foreign.refusal == (404, "resource_missing", "payment_intent")
    assert globex.get(PATH)["data"] == []


def test_disputes_are_paged_through_both_ways(four: list[Complaint]) -> None:
    shop, ids = four[0].shop, [one.id for one in four]

    for before, cursor, after in zip(ids, ids[1:], ids[2:], strict=False):
        [older] = shop.get(f"{PATH}?limit=1&starting_after={cursor}")["data"]
        [newer] = shop.get(f"{PATH}?limit=1&ending_before={cursor}")["data"]
        assert (older["id"], newer["id"]) == (before, after)
    counted = shop.get(f"{PATH}?include[]=total_count&limit=1")
    assert (counted["total_count"], counted["has_more"]) == (4, True)


# --- Expansion and search ---------------------------------------------------------------------


def test_payment_and_attempt_are_shown_whole(complaint: Complaint) -> None:
    complaint.opened()
    asked = "expand[]=payment_intent&expand[]=attempt"

    whole = complaint.shop.get(f"{PATH}/{complaint.id}?{asked}")
    [listed] = complaint.shop.get(f"{PATH}?{asked}")["data"]
    changed = complaint.shop.post(
        f"{PATH}/{complaint.id}", {"metadata": {"a": "1"}, "expand": ["payment_intent"]}
    )

    assert whole["payment_intent"] == complaint.shop.payment(complaint.payment_id).body
    assert whole["attempt"]["object"] == "payment_attempt"
    assert listed == whole.body
    assert changed["payment_intent"]["id"] == complaint.payment_id


def test_what_is_shown_whole_needs_its_own_scope(complaint: Complaint) -> None:
    complaint.opened()
    only_disputes = limited(complaint.shop, payment_intents="none")

    assert only_disputes.get(f"{PATH}/{complaint.id}").status == 200
    refused = only_disputes.get(f"{PATH}/{complaint.id}?expand[]=payment_intent")
    assert refused.refusal == (403, "permission_denied", None)


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("scope", "reads", "writes"), [("none", 403, 403), ("read", 200, 403), ("write", 200, 200)]
)
def test_a_key_reads_and_answers_disputes_as_its_scope_says(
    scope: str, reads: int, writes: int, complaint: Complaint
) -> None:
    complaint.opened()
    shop = limited(complaint.shop, disputes=scope)

    assert shop.get(PATH).status == reads
    assert shop.get(f"{PATH}/{complaint.id}").status == reads
    assert shop.post(f"{PATH}/{complaint.id}", {"metadata": {"a": "1"}}).status == writes
    assert shop.post(f"{PATH}/{complaint.id}/close").status == writes


def test_a_dispute_is_found_by_its_id_and_its_payment_with_it(complaint: Complaint) -> None:
    complaint.opened()
    shop = complaint.shop

    found = shop.get(f"/v1/search?q={complaint.id}")["data"]
    [paid] = shop.get(f"/v1/payment_intents?q={complaint.id}")["data"]

    assert [row["id"] for row in found] == [complaint.id, complaint.payment_id]
    assert found[0] == complaint.shown()
    assert paid["id"] == complaint.payment_id


def test_a_search_pages_from_a_dispute_to_its_payment(complaint: Complaint) -> None:
    complaint.opened()
    path = f"/v1/search?q={complaint.id}&limit=1"

    [first] = complaint.shop.get(path)["data"]
    [second] = complaint.shop.get(f"{path}&starting_after={first['id']}")["data"]

    assert (first["id"], second["id"]) == (complaint.id, complaint.payment_id)


def test_a_key_that_may_not_read_disputes_finds_nothing_by_them(complaint: Complaint) -> None:
    complaint.opened()
    shop = limited(complaint.shop, disputes="none")

    assert shop.get(f"/v1/search?q={complaint.id}")["data"] == []
    assert shop.get(f"/v1/payment_intents?q={complaint.id}")["data"] == []
    assert len(shop.get(f"/v1/search?q={complaint.payment_id}")["data"]) == 1


def test_a_foreign_dispute_is_found_nowhere(complaint: Complaint, globex: ApiClient) -> None:
    complaint.opened()

    assert globex.get(f"/v1/search?q={complaint.id}")["data"] == []
    assert globex.get(f"/v1/payment_intents?q={complaint.id}")["data"] == []
    assert globex.get(f"{PATH}/{complaint.id}").refusal == (404, "resource_missing", None)


@pytest.mark.parametrize("path", [f"{PATH}/dp_%00", f"{PATH}/dp_x%00/close"])
def test_a_path_with_a_nul_is_refused(path: str, acme: ApiClient) -> None:
    assert acme.get(path).status in (400, 404, 405)
    assert acme.post(path).status in (400, 404)
