"""Lists and payments in review at the desk."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from merchants import accounts
from merchants.models import AuditEntry, RequestLog
from payments.intents.models import PaymentIntent
from payments.risk import lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.factories import GOOD_CARD
from tests.stage.planner import takes_for_large

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

EMAIL = {"list": "block", "kind": "email", "value": "eve@evil.example", "why": "Chargebacks."}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_card_is_blocked_by_one_of_its_payments(
    desk: Desk, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay()["id"]
    form = {"list": "block", "kind": "card", "value": paid, "why": "Stolen."}

    assert desk.send("desk_list_add", form=form).status_code == 303

    assert acme.pay()["last_payment_error"]["code"] == "fraud_blocked"
    [row] = AuditEntry.objects.filter(action="list_entry.added")
    assert (row.actor_name, row.reason, row.merchant) == (
        desk.person.email,
        "Stolen.",
        acme.merchant,
    )
    assert GOOD_CARD not in desk.get("desk_lists").content.decode()


def test_an_entry_is_added_and_removed(desk: Desk) -> None:
    assert desk.send("desk_list_add", form={**EMAIL, "days": "30"}).status_code == 303
    entry = ListEntry.objects.get()
    assert entry.expires_at is not None
    assert "e…@evil.example" in desk.get("desk_lists").content.decode()

    assert desk.send("desk_list_remove", entry.pk, form={"why": "A mistake."}).status_code == 303

    assert ListEntry.objects.count() == 0
    assert AuditEntry.objects.get(action="list_entry.removed").reason == "A mistake."
    assert desk.get("desk_list_remove", entry.pk).status_code == 404


def test_a_form_that_is_sent_twice_makes_one_entry(desk: Desk) -> None:
    assert [desk.send("desk_list_add", form=EMAIL).status_code for _ in range(2)] == [303, 303]
    assert ListEntry.objects.count() == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"value": "nobody"}, {"value": ""}, {"kind": "bin", "value": "12345"},
        {"kind": "bin", "value": "１２３４５６"}, {"kind": "card", "value": "pi_unknown"},
        {"kind": "phone"}, {"list": "grey"}, {"days": "0"}, {"merchant": "mer_unknown"},
        {"why": " "},
        {"kind": "card", "value": GOOD_CARD}, {"why": f"It is {GOOD_CARD}"},
    ],
)  # fmt: skip
def test_a_bad_entry_is_refused_at_its_field(desk: Desk, bad: dict[str, str]) -> None:
    answer = desk.send("desk_list_add", form={**EMAIL, **bad})

    assert answer.status_code == 400
    assert b"errorlist" in answer.content
    assert GOOD_CARD not in answer.content.decode()
    assert ListEntry.objects.count() == 0


@pytest.mark.parametrize("bad", ["x", "0", "9" * 40, "-1", "%ff"])
def test_an_unknown_entry_is_404(desk: Desk, bad: str) -> None:
    assert desk.http.get(f"/admin/desk/lists/{bad}/remove/").status_code == 404


def test_the_lists_are_filtered_and_paged(desk: Desk, acme: ApiClient) -> None:
    for number in range(4):
        lists.add(desk.person, None, BlockEntry("block", "bin", f"40000{number}", "x"))
    lists.add(desk.person, acme.merchant, BlockEntry("allow", "bin", "400000", "x"))

    assert len(desk.get("desk_lists", list="block").context["found"].rows) == 4
    assert len(desk.get("desk_lists", merchant=acme.merchant.id).context["found"].rows) == 1
    first = desk.get("desk_lists", limit=2).context["found"]
    assert len(desk.http.get(first.older).context["found"].rows) == 2
    assert desk.get("desk_lists", starting_after="x").status_code == 404


# --- Review -----------------------------------------------------------------------------------


@pytest.fixture
def marked(acme: ApiClient, bank: BankTransport) -> str:
    """A payment that a rule marked."""
    rule = {"rule": "amount", "currency": "try", "deed": "review", "threshold": 100}
    accounts.change(acme.merchant, {"risk_rules": [rule]})
    return acme.pay()["id"]


@pytest.mark.parametrize("verdict", ["clear", "fraud"])
def test_a_person_judges_a_payment(desk: Desk, acme: ApiClient, marked: str, verdict: str) -> None:
    assert marked in desk.get("desk_review").content.decode()

    answer = desk.send("desk_review_judge", marked, form={"verdict": verdict, "why": "I called."})

    assert (answer.status_code, answer["Location"]) == (303, "/admin/desk/review/")
    assert acme.get(f"/v1/payment_intents/{marked}")["fraud"]["status"] == verdict
    assert marked not in desk.get("desk_review").content.decode()
    [row] = AuditEntry.objects.filter(action="payment.judged")
    event = Event.objects.get(type="payment_intent.fraud_updated")
    assert (row.reason, row.request_id) == ("I called.", event.request_id)
    assert RequestLog.objects.get(id=event.request_id).kind == "job"


def test_two_operators_judge_once(desk: Desk, marked: str) -> None:
    def sent(verdict: str) -> int:
        form = {"verdict": verdict, "why": "x", "seen": "review"}
        return desk.post("desk_review_judge", marked, form=form).status_code

    assert [sent("clear"), sent("clear"), sent("fraud")] == [303, 303, 409]
    assert AuditEntry.objects.filter(action="payment.judged").count() == 1
    assert PaymentIntent.objects.get(id=marked).fraud["status"] == "clear"


@pytest.mark.parametrize("bad", [{"verdict": "maybe"}, {"verdict": ""}, {"why": ""}])
def test_a_bad_judgement_is_refused(desk: Desk, marked: str, bad: dict[str, str]) -> None:
    form = {"verdict": "fraud", "why": "x", **bad}

    assert desk.send("desk_review_judge", marked, form=form).status_code == 400
    assert PaymentIntent.objects.get(id=marked).fraud["status"] == "review"


def test_an_unknown_payment_is_404(desk: Desk) -> None:
    assert desk.get("desk_review_judge", "pi_unknown").status_code == 404


def test_what_waits_is_found_by_its_index(desk: Desk, marked: str) -> None:
    takes_for_large("intents_paymentintent")
    with connection.cursor() as cursor:
        with CaptureQueriesContext(connection) as queries:
            desk.get("desk_review")
        [asked] = [q["sql"] for q in queries if "fraud" in q["sql"] and "SELECT" in q["sql"]]
        cursor.execute(f"EXPLAIN {asked}")
        assert "payments_in_review" in "\n".join(line for (line,) in cursor.fetchall())
