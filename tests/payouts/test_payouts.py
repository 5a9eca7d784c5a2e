"""Payouts: money leaves `available` at once, the bank a minute later, and it may come back."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from core import clock
from merchants import accounts
from merchants.refusals import ChangeRefused
from payouts import steps
from payouts.models import Payout
from testbank import transfers
from tests.stage.bank_days import begin_on_a_friday
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.transfers import (
    DELAY,
    PAYOUTS,
    account,
    at_the_bank,
    balance,
    hear,
    hear_after,
    pay_out,
    rich,
    sent,
    shown,
    told,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FAILURES = (
    "account_closed", "no_account", "incorrect_account_holder_name", "bank_account_restricted",
    "declined", "could_not_process",
)  # fmt: skip


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return rich(acme)


# --- Its way ----------------------------------------------------------------------------------


def test_it_is_pending_then_in_transit_then_paid(shop: ApiClient) -> None:
    made = pay_out(shop, 5000, description="May", statement_descriptor="ACME 05")

    assert made.status == 200
    assert list(made.body) == [
        "id", "object", "amount", "currency", "status", "arrival_date", "automatic", "method",
        "destination", "description", "statement_descriptor", "failure_code", "failure_message",
        "trace_id", "metadata", "created", "livemode",
    ]  # fmt: skip
    assert (made["status"], made["destination"], made["automatic"]) == ("pending", "main", False)
    assert (balance(shop), at_the_bank()) == (95_000, [])
    sweep_after(DELAY)
    assert shown(shop, made["id"])["status"] == "in_transit"
    hear_after(5)
    paid = shown(shop, made["id"])
    assert (paid["status"], paid["trace_id"] is not None) == ("paid", True)
    assert at_the_bank() == [(5000, "paid", 5000)]
    assert told(shop, made["id"]) == ["created", "paid"]
    [created, event] = shop.events_of(made["id"])
    assert created["data"]["object"] == made.body
    assert event["data"]["object"] == paid.body
    assert event["data"]["previous_attributes"]["status"] == "in_transit"
    assert event["request_id"] == made.headers["Request-Id"]


def test_nothing_is_sent_before_the_delay_is_over(shop: ApiClient) -> None:
    made = pay_out(shop)

    sweep_after(DELAY - 1)

    assert (shown(shop, made["id"])["status"], at_the_bank()) == ("pending", [])


def test_it_arrives_on_the_next_business_day_and_then_on_the_day_it_did(
    shop: ApiClient,
) -> None:
    friday, monday = begin_on_a_friday()

    made = pay_out(shop)
    assert made["arrival_date"] == int(monday.timestamp())

    sent(made["id"])
    hear_after(5)
    assert shown(shop, made["id"])["arrival_date"] == int(friday.timestamp())


@pytest.mark.parametrize("destination", ["main", "test_silent"])
def test_it_arrived_when_the_bank_says_and_not_when_we_heard_of_it(
    shop: ApiClient, destination: str
) -> None:
    friday, _monday = begin_on_a_friday()
    made = pay_out(shop, destination=destination)
    sent(made["id"])

    hear_after(3 * 86_400)
    sweep_after(0)

    paid = shown(shop, made["id"])
    assert paid["status"] == "paid"
    assert paid["arrival_date"] == int(friday.timestamp())


@pytest.mark.parametrize("days", [-400, 400])
def test_a_bank_with_a_wrong_clock_moves_no_arrival_out_of_its_days(
    shop: ApiClient, days: int
) -> None:
    made = pay_out(shop)
    sent(made["id"])
    payout, at = Payout.objects.get(), clock.now() + timedelta(days=days)

    with transaction.atomic():
        steps.pay(steps.locked(payout), None, arrived_at=at)

    assert abs(Payout.objects.get().arrival_at - clock.now()) < timedelta(days=2)


@pytest.mark.parametrize("code", FAILURES)
def test_one_that_fails_gives_its_money_back(code: str, shop: ApiClient) -> None:
    made = pay_out(shop, destination=f"test_{code}")
    sent(made["id"])

    hear_after(5)

    failed = shown(shop, made["id"])
    assert (failed["status"], failed["failure_code"]) == ("failed", code)
    assert failed["failure_message"]
    assert (balance(shop), at_the_bank()) == (100_000, [(5000, "failed", 0)])
    assert told(shop, made["id"]) == ["created", "failed"]


def test_one_that_comes_back_after_it_was_paid_gives_its_money_back(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "RETURNED_AFTER", timedelta(hours=1))  # However slow this is.
    made = pay_out(shop, destination="test_bounced")
    sent(made["id"])
    hear_after(3)
    assert (shown(shop, made["id"])["status"], balance(shop)) == ("paid", 95_000)

    hear_after(3600)

    failed = shown(shop, made["id"])
    assert (failed["status"], failed["failure_code"]) == ("failed", "account_closed")
    assert (balance(shop), at_the_bank()) == (100_000, [(5000, "returned", 0)])
    assert told(shop, made["id"]) == ["created", "paid", "failed"]
    types = [
        row["type"] for row in shop.get(f"/v1/balance_transactions?source={made['id']}")["data"]
    ]
    assert types == ["payout_failure", "payout"]


def test_a_silent_bank_is_asked_and_the_payout_is_found_paid(shop: ApiClient) -> None:
    made = pay_out(shop, destination="test_silent")
    sent(made["id"])
    hear_after(5)
    assert shown(shop, made["id"])["status"] == "in_transit"

    sweep_after(10)

    assert shown(shop, made["id"])["status"] == "paid"
    assert at_the_bank() == [(5000, "paid", 5000)]


# --- Changes ----------------------------------------------------------------------------------


def test_a_pending_one_is_canceled_and_never_sent(shop: ApiClient) -> None:
    made = pay_out(shop)

    canceled = shop.post(f"{PAYOUTS}/{made['id']}/cancel")

    assert (canceled.status, canceled["status"], balance(shop)) == (200, "canceled", 100_000)
    sweep_after(3600)
    assert at_the_bank() == []
    assert told(shop, made["id"]) == ["created"]
    lines = shop.get("/v1/balance_transactions")["data"]
    assert [row["type"] for row in lines][:2] == ["payout_cancel", "payout"]


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("status", ["in_transit", "paid", "failed", "canceled"])
def test_no_other_one_is_canceled(status: str, shop: ApiClient) -> None:
    made = pay_out(shop, destination="test_declined" if status == "failed" else "main")
    if status == "canceled":
        shop.post(f"{PAYOUTS}/{made['id']}/cancel")
    else:
        sent(made["id"])
        hear_after(0 if status == "in_transit" else 5)
    assert shown(shop, made["id"])["status"] == status

    refused = shop.post(f"{PAYOUTS}/{made['id']}/cancel")

    assert refused.refusal == (400, "payout_unexpected_state", None)
    assert refused.error["payout"] == shown(shop, made["id"]).body


def test_description_and_metadata_change_without_an_event(shop: ApiClient) -> None:
    made = pay_out(shop, metadata={"a": "1"})

    changed = shop.post(f"{PAYOUTS}/{made['id']}", {"description": "x", "metadata": {"b": "2"}})

    assert (changed["description"], changed["metadata"]) == ("x", {"a": "1", "b": "2"})
    assert told(shop, made["id"]) == ["created"]


def test_the_same_key_is_the_same_payout(shop: ApiClient) -> None:
    first = pay_out(shop, idempotency_key="k")
    again = pay_out(shop, idempotency_key="k")

    assert first.body == again.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (Payout.objects.count(), balance(shop)) == (1, 95_000)


# --- Refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"amount": 0}, ("amount_too_small", "amount")),
        ({"amount": -1}, ("amount_too_small", "amount")),
        ({"amount": True}, ("parameter_invalid", "amount")),
        ({"amount": "5000"}, ("parameter_invalid", "amount")),
        ({"amount": 2**63}, ("amount_too_large", "amount")),
        ({"amount": None}, ("parameter_missing", "amount")),
        ({"currency": "jpy"}, ("currency_not_supported", "currency")),
        ({"currency": "eur"}, ("balance_insufficient", "amount")),
        ({"amount": 100_001}, ("balance_insufficient", "amount")),
        ({"statement_descriptor": "x" * 23}, ("parameter_invalid", "statement_descriptor")),
        ({"automatic": True}, ("parameter_unknown", "automatic")),
    ],
    ids=str,
)
def test_bad_input_is_refused_and_moves_nothing(
    changes: dict[str, Any], refusal: tuple[str, str], shop: ApiClient
) -> None:
    refused = pay_out(shop, **changes)

    assert refused.refusal == (400, *refusal)
    assert (Payout.objects.count(), balance(shop)) == (0, 100_000)


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("destination", ["unknown", "foreign", "x" * 255, "a b"])
def test_an_account_that_is_not_the_merchants_is_refused(
    destination: str, shop: ApiClient, globex: ApiClient
) -> None:
    account(globex.merchant, "foreign")

    refused = pay_out(shop, destination=destination)

    assert refused.refusal == (404, "resource_missing", "destination")
    assert Payout.objects.count() == 0


def test_without_an_account_the_destination_is_missing(
    acme: ApiClient, bank: BankTransport
) -> None:
    refused = pay_out(acme)

    assert refused.refusal == (400, "parameter_missing", "destination")


@pytest.mark.parametrize(
    "changes",
    [{"payouts_enabled": False}, {"status": "restricted"}, {"status": "closed"}],
    ids=str,
)
def test_an_account_that_may_have_none_is_refused(changes: dict[str, Any], shop: ApiClient) -> None:
    made = pay_out(shop)
    accounts.change(shop.merchant, changes)

    assert pay_out(shop).refusal == (403, "merchant_restricted", None)

    # A payout that was begun is finished.
    sent(made["id"])
    hear_after(5)
    assert Payout.objects.get().status == "paid"


def test_without_a_bank_that_pays_out_nothing_is_stored(shop: ApiClient, settings: Any) -> None:
    settings.TRANSFERS = ""

    refused = pay_out(shop)

    assert refused.refusal == (503, "upstream_unavailable", None)
    assert refused.headers["Retry-After"] == "3600"
    assert (Payout.objects.count(), balance(shop)) == (0, 100_000)


# --- Found ------------------------------------------------------------------------------------


def test_they_are_listed_filtered_and_sorted(shop: ApiClient) -> None:
    made = [pay_out(shop, amount)["id"] for amount in (300, 100, 200)]
    shop.post(f"{PAYOUTS}/{made[0]}/cancel")

    def ids(query: str) -> list[str]:
        return [row["id"] for row in shop.get(f"{PAYOUTS}?{query}")["data"]]

    assert ids("") == made[::-1]
    assert ids("sort=amount") == [made[1], made[2], made[0]]
    assert sorted(ids("sort=-arrival_date")) == sorted(made)
    assert ids("status=canceled") == [made[0]]
    assert ids("status[]=canceled&status[]=pending") == made[::-1]
    assert ids("currency=usd") == []
    assert ids(f"created[gte]={int(clock.now().timestamp()) + 60}") == []
    assert ids("arrival_date[lt]=1") == []
    assert shop.get(f"{PAYOUTS}?method=x").refusal == (400, "parameter_invalid", "method")
    assert shop.get(f"{PAYOUTS}?sort=status").refusal == (400, "parameter_invalid", "sort")


def test_the_operators_account_is_registered_by_the_one_door(acme: ApiClient) -> None:
    account_of = {
        "reference": "kasa",
        "holder_name": "Acme",
        "iban": "TR33 0006 1005 1978 6457 8413 26",
    }
    accounts.change(acme.merchant, {"add_payout_account": account_of}, "asked")
    accounts.change(acme.merchant, {"add_payout_account": {**account_of, "reference": "b"}}, "x")
    accounts.change(acme.merchant, {"default_payout_account": "b"}, "asked")

    own = acme.merchant.payout_accounts
    assert [row.reference for row in own.filter(is_default=True)] == ["b"]
    with pytest.raises(ChangeRefused):
        accounts.change(acme.merchant, {"remove_payout_account": "b"}, "asked")
    accounts.change(acme.merchant, {"default_payout_account": "kasa"}, "asked")
    accounts.change(acme.merchant, {"remove_payout_account": "b"}, "asked")
    assert [row.iban for row in own.all()] == ["TR330006100519786457841326"]


def test_nothing_is_due_of_what_has_ended(shop: ApiClient) -> None:
    made = pay_out(shop)
    sent(made["id"])
    hear_after(5)

    hear()
    sweep()
    sweep_after(86_400)

    assert told(shop, made["id"]) == ["created", "paid"]
