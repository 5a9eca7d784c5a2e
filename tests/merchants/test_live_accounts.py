"""A new account of a live installation: nothing goes before an operator says so."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from ledger.models import Price
from merchants import accounts
from merchants.accounts import Application
from merchants.models import AuditEntry, Merchant
from panel.operators import opening
from tests.stage.client import ApiClient

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]
# Of the merchant's country, and its issuer asks for nothing: only the account's limits decide.
CARD = "5528790000000008"
NO_3DS = {"payment_method_options": {"card": {"three_d_secure": "none"}}}
BACK = {"return_url": "https://shop.example/return"}
WHY = ("--reason", "the contract of today")


@pytest.fixture(autouse=True)
def live(settings: Any) -> None:
    settings.LIVEMODE = True


@pytest.fixture
def shop() -> ApiClient:
    return ApiClient(
        accounts.open_account(name="Shop", email="o@shop.example", websites=("shop.example",))
    )


def tell(*words: str) -> None:
    call_command("merchant", *words, *WHY, stdout=StringIO())


def without_terms(merchant: Merchant) -> bool:
    terms = (
        merchant.non_secure_limits, merchant.negative_limits, merchant.installment_plans,
        merchant.payout_accounts, Price.objects.filter(merchant=merchant),
    )  # fmt: skip
    return not any(rows.exists() for rows in terms)


def test_the_command_opens_a_pending_account_without_limits_and_prices() -> None:
    out = StringIO()
    words = ("--name", "Shop", "--email", "o@shop.example", "--json")
    call_command("create_merchant", *words, stdout=out)

    told = json.loads(out.getvalue())

    merchant = Merchant.objects.get(id=told["merchant_id"])
    assert told["secret_key"].startswith("sk_live_")
    assert (merchant.status, merchant.non_secure_allowed) == ("pending", False)
    assert without_terms(merchant)
    opened = AuditEntry.objects.get(action="merchant.opened")
    assert opened.after["status"] == "pending"


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_the_desk_opens_the_same() -> None:
    merchant = opening.open_account(Application("Shop", "o@shop.example", reason="asked"))

    assert (merchant.status, merchant.non_secure_allowed) == ("pending", False)
    assert without_terms(merchant)


def test_the_api_says_so(shop: ApiClient) -> None:
    shown = shop.get("/v1/merchant")

    assert (shown["status"], shown["livemode"]) == ("pending", True)
    assert (shown["non_secure_allowed"], shown["non_secure_limits"]) == (False, [])


def test_a_pending_account_takes_nothing_and_is_approved(shop: ApiClient) -> None:
    payout = {"amount": 100, "currency": "try"}

    assert shop.pay(CARD, **BACK).refusal == (403, "merchant_restricted", None)
    assert shop.post("/v1/payouts", payout).refusal == (403, "merchant_restricted", None)

    tell("status", shop.merchant.id, "active")
    assert shop.pay(CARD, **BACK)["status"] == "requires_action"


@pytest.mark.parametrize("amount", [1, 500_000, 500_001])
def test_an_approved_account_takes_no_payment_without_3_d_secure(
    shop: ApiClient, amount: int
) -> None:
    tell("status", shop.merchant.id, "active")

    asked = shop.pay(CARD, amount=amount, **BACK)
    refused = shop.pay(CARD, amount=amount, **NO_3DS)

    assert (asked["status"], refused.refusal[:2]) == (
        "requires_action",
        (400, "non_secure_not_allowed"),
    )


def test_an_operator_says_how_much_goes_without(shop: ApiClient) -> None:
    tell("status", shop.merchant.id, "active")
    limit = ("limits", shop.merchant.id, "--currency", "try", "--per-payment", "20000")

    tell(*limit)
    assert shop.pay(CARD, amount=20_000, **BACK)["status"] == "requires_action"
    tell(*limit, "--non-secure", "on")

    assert shop.pay(CARD, amount=20_000)["status"] == "succeeded"
    assert shop.pay(CARD, amount=20_001, **BACK)["status"] == "requires_action"
    tell(*limit[:4], "--non-secure", "off")
    assert shop.pay(CARD, amount=20_000, **BACK)["status"] == "requires_action"
