"""Captured money is given back: voided on the bank's same day, refunded otherwise."""

from datetime import timedelta

import pytest

from payments.refunds.models import Refund
from tests.stage.bank_days import (
    begin_at_noon,
    end_the_day,
    end_the_day_nearly,
    wait_for_refunds,
)
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

NOTHING_GOES_BACK = "4000001100000074"
FIELDS = [
    "id", "object", "amount", "currency", "payment_intent", "attempt", "status", "method",
    "reason", "description", "failure_reason", "pending_reason", "reference", "metadata",
    "created", "livemode",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _a_day_has_hours_left(bank: BankTransport) -> None:
    begin_at_noon()


def test_a_part_and_then_the_rest_go_back(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.pay()["id"]
    wait_for_refunds(bank)

    part, rest = acme.refund(payment_id, 4000), acme.refund(payment_id)

    assert (part.status, part["status"], part["amount"]) == (200, "succeeded", 4000)
    assert (rest["status"], rest["amount"]) == ("succeeded", 8500)
    assert (part["method"], rest["method"]) == ("refund", "refund")
    paid = acme.payment(payment_id)
    assert (paid["status"], paid["refunded_minor"], paid["amount_refundable"]) == (
        "succeeded", 12500, 0,
    )  # fmt: skip
    assert given_back(payment_id) == GivenBack(12500, 12500)


def test_a_refund_shows_its_fields_in_their_order(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()
    wait_for_refunds(bank)

    made = acme.refund(
        paid["id"], 1, reason="duplicate", description="Tea", metadata={"order": "7"}
    )

    assert list(made.body) == FIELDS
    assert (made["reason"], made["description"], made["metadata"]) == (
        "duplicate", "Tea", {"order": "7"},
    )  # fmt: skip
    assert (made["payment_intent"], made["attempt"]) == (paid["id"], paid["latest_attempt"])
    assert (made["failure_reason"], made["pending_reason"]) == (None, None)
    assert made["reference"]
    assert acme.refunded(made["id"]).body == made.body


def test_its_events_are_created_as_pending_and_then_succeeded(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay()["id"]
    wait_for_refunds(bank)

    made = acme.refund(payment_id, 4000)

    created, succeeded = acme.events_of(made["id"])
    assert (created["type"], created["sequence"]) == ("refund.created", 1)
    assert (succeeded["type"], succeeded["sequence"]) == ("refund.succeeded", 2)
    assert created["data"]["object"]["status"] == "pending"
    assert created["data"]["object"]["pending_reason"] == "processing"
    assert succeeded["data"]["object"] == made.body
    assert succeeded["data"]["previous_attributes"] == {
        "status": "pending", "pending_reason": "processing", "reference": None,
    }  # fmt: skip
    assert {created["request_id"], succeeded["request_id"]} == {made.headers["Request-Id"]}


def test_a_refund_tells_no_event_of_its_payment(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.pay()["id"]
    told = acme.told(payment_id)

    acme.refund(payment_id)

    assert acme.told(payment_id) == told


# --- Void or refund ---------------------------------------------------------------------------


def test_the_whole_of_today_is_voided(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.pay()["id"]

    made = acme.refund(payment_id)

    assert (made["status"], made["method"], made["reference"]) == ("succeeded", "void", None)
    assert given_back(payment_id) == GivenBack(12500, 12500)


@pytest.mark.gate_at_doors("each bank says in its own way what is left to void")
def test_the_whole_of_a_part_that_was_captured_is_voided(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(capture_method="manual")["id"]
    acme.post(f"/v1/payment_intents/{payment_id}/capture", {"amount_to_capture": 5000})

    made = acme.refund(payment_id, 5000)

    assert (made["status"], made["method"], made["amount"]) == ("succeeded", "void", 5000)
    assert given_back(payment_id) == GivenBack(5000, 5000)


@pytest.mark.at_the_old_bank
@pytest.mark.not_at_real_doors("on one day they either refund or void")
def test_a_refund_that_failed_or_was_canceled_does_not_count(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(NOTHING_GOES_BACK)["id"]
    assert acme.refund(payment_id, 100)["status"] == "failed"

    assert acme.refund(payment_id)["method"] == "void"


@pytest.mark.parametrize(
    ("before", "method"), [(timedelta(minutes=1), "void"), (timedelta(0), "refund")]
)
def test_at_the_end_of_the_banks_day_it_is_a_refund(
    before: timedelta, method: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay()["id"]
    end_the_day_nearly(before)

    made = acme.refund(payment_id)

    assert (made["status"], made["method"]) == ("succeeded", method)


@pytest.mark.parametrize("number", ["4000000000007726", "4000000000005126"])
def test_a_void_that_comes_too_late_becomes_a_refund_in_the_same_object(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(number)["id"]

    made = acme.refund(payment_id)

    assert (made["status"], made["method"], made["pending_reason"]) == (
        "pending", "refund", "processing",
    )  # fmt: skip
    created, updated = acme.events_of(made["id"])
    assert created["data"]["object"]["method"] == "void"
    assert (updated["type"], updated["data"]["previous_attributes"]) == (
        "refund.updated", {"method": "void"},
    )  # fmt: skip
    assert Refund.objects.count() == 1


def test_a_void_on_the_last_moment_is_found_settled(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = acme.pay()["id"]
    bank.fault = "cut_before"
    made = acme.refund(payment_id)
    assert (made["status"], made["method"]) == ("pending", "void")
    bank.fault = None
    end_the_day()

    for _ in range(2):
        sweep_after(10)

    ended = acme.refunded(made["id"])
    assert (ended["status"], ended["method"]) == ("succeeded", "refund")
    assert given_back(payment_id) == GivenBack(12500, 12500)


# --- Refused by the bank ----------------------------------------------------------------------


@pytest.mark.parametrize("amount", [None, 4000], ids=["void", "refund"])
def test_a_refusal_is_no_error_and_the_money_is_the_merchants_again(
    amount: int | None, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(NOTHING_GOES_BACK)["id"]
    if amount is not None:
        wait_for_refunds(bank)
    before = acme.get("/v1/balance").body

    made = acme.refund(payment_id, amount)

    assert (made.status, made["status"], made["failure_reason"]) == (200, "failed", "declined")
    assert (made["pending_reason"], made["reference"]) == (None, None)
    assert acme.payment(payment_id)["amount_refundable"] == 12500
    assert acme.get("/v1/balance").body == before
    assert [event["type"] for event in acme.events_of(made["id"])] == [
        "refund.created", "refund.failed",
    ]  # fmt: skip
    assert given_back(payment_id) == GivenBack(0, 0)


@pytest.mark.at_the_sandbox("a card of the sandbox's bank")
@pytest.mark.parametrize(
    ("number", "ended"), [("4000000000007726", "succeeded"), ("4000000000005126", "failed")]
)
def test_the_bank_may_say_later(
    number: str, ended: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(number)["id"]
    made = acme.refund(payment_id, 4000)
    assert (made["status"], made["pending_reason"]) == ("pending", "processing")

    for _ in range(2):
        sweep_after(10)

    later = acme.refunded(made["id"])
    assert later["status"] == ended
    assert [event["type"] for event in acme.events_of(made["id"])] == [
        "refund.created", f"refund.{ended}",
    ]  # fmt: skip
    back = 4000 if ended == "succeeded" else 0
    assert given_back(payment_id) == GivenBack(back, back)


# --- Description and metadata -----------------------------------------------------------------


def test_description_and_metadata_may_change_in_any_status(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay()["id"]
    wait_for_refunds(bank)
    made = acme.refund(payment_id, 4000, metadata={"a": "1", "b": "2"})
    path = f"/v1/refunds/{made['id']}"

    changed = acme.post(path, {"description": "Tea", "metadata": {"a": "", "c": "3"}})
    cleared = acme.post(path, {"description": None, "metadata": {}})

    assert (changed["description"], changed["metadata"]) == ("Tea", {"b": "2", "c": "3"})
    assert (cleared["description"], cleared["metadata"], cleared["status"]) == (
        None, {}, "succeeded",
    )  # fmt: skip
    told = acme.events_of(made["id"])[2:]
    assert [event["type"] for event in told] == ["refund.updated"] * 2
    before = told[0]["data"]["previous_attributes"]
    assert (before["description"], before["metadata"]["a"]) == (None, "1")


def test_an_update_that_changes_nothing_tells_nothing(acme: ApiClient, bank: BankTransport) -> None:
    made = acme.refund(acme.pay()["id"], 4000, description="Tea")

    same = acme.post(f"/v1/refunds/{made['id']}", {"description": "Tea", "metadata": {"a": ""}})

    assert same.body == made.body
    assert len(acme.events_of(made["id"])) == 2


def test_a_refund_without_a_merchants_right_to_charge_goes_on(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay()["id"]
    acme.merchant.status = "restricted"
    acme.merchant.save()

    assert acme.pay().refusal[1] == "merchant_restricted"
    assert acme.refund(payment_id)["status"] == "succeeded"


@pytest.mark.parametrize("capture_method", ["automatic", "manual"])
def test_the_banks_day_is_that_of_the_request_and_not_of_its_late_answer(
    acme: ApiClient, bank: BankTransport, capture_method: str
) -> None:
    end_the_day_nearly(timedelta(seconds=30))
    bank.fault = "cut_after" if capture_method == "automatic" else None
    payment_id = acme.pay(capture_method=capture_method)["id"]
    bank.fault = "cut_after"
    acme.post(f"/v1/payment_intents/{payment_id}/capture")
    end_the_day()
    bank.fault = None
    sweep_after(30)
    assert acme.payment(payment_id)["status"] == "succeeded"

    refund = acme.refund(payment_id)

    assert (refund["status"], refund["method"]) == ("succeeded", "refund")
    assert acme.told(refund["id"]) == ["refund.created", "refund.succeeded"]
