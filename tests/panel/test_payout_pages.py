"""Payouts in the panel: listed, shown, asked for once, and called off while nothing was sent."""

from typing import Any

import pytest
from django.test import Client

from merchants.models import AuditEntry, PayoutAccount
from payouts.models import Payout
from payouts.states import FailureCode
from tests.stage.audited import audit
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.panel_forms import looked, sent_whole
from tests.stage.panel_pages import address
from tests.stage.sweeper import sweep_after
from tests.stage.teams import person, signed_in
from tests.stage.transfers import DELAY, IBAN, balance, hear_after, pay_out, rich, sent

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]

FORM = {"token": "once", "amount": "50.00", "currency": "try", "destination": "main"}


@pytest.fixture
def shop(acme: ApiClient, bank: Any) -> ApiClient:
    return rich(acme)


@pytest.fixture
def owner(shop: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (shop.merchant, "owner")))


def read(client: Client, shop: ApiClient, name: str, thing: str = "") -> str:
    page = client.get(address(name, shop.merchant.id, thing))
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def ask(client: Client, shop: ApiClient, **fields: str) -> Any:
    return sent_whole(client, address("create_payout", shop.merchant.id), {**FORM, **fields})


def call_off(client: Client, shop: ApiClient, payout_id: str, token: str = "off") -> Any:
    return client.post(address("cancel_payout", shop.merchant.id, payout_id), {"token": token})


def test_a_payout_is_made_once_and_shown(owner: Client, shop: ApiClient) -> None:
    url = address("create_payout", shop.merchant.id)
    fields = looked(owner, url, {**FORM, "statement_descriptor": "ACME 05"})
    answers = [owner.post(url, fields) for _ in range(2)]

    made = Payout.objects.get()
    assert [one.status_code for one in answers] == [303, 303]
    assert {one.url for one in answers} == {address("payout", shop.merchant.id, made.id)}
    assert (made.amount, made.destination, made.statement_descriptor) == (5000, "main", "ACME 05")
    assert balance(shop) == 95_000
    [row] = AuditEntry.objects.filter(action="payout.created", subject=made.id)
    assert row.after == {"amount": 5000, "currency": "try", "destination": "main"}
    page = read(owner, shop, "payout", made.id)
    for words in ("The payout of ₺50.00 was made", "Pending", "TR33 •••• 1326", "Acme Ltd",
                  "-₺50.00", "payout.created", "ACME 05", "Cancel payout"):  # fmt: skip
        assert words in page, words
    assert IBAN not in page
    assert shop.get(f"/v1/payouts/{made.id}")["id"] in page
    audit()


def test_the_token_with_other_values_makes_nothing(owner: Client, shop: ApiClient) -> None:
    ask(owner, shop)

    again = ask(owner, shop, amount="60.00")

    assert again.status_code == 409
    assert Payout.objects.get().amount == 5000


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"amount": "1000.01"}, "amount", "more than is available"),
        ({"amount": ""}, "amount", "Give an amount"),
        ({"amount": "0"}, "amount", "Give an amount such as"),
        ({"amount": "-5"}, "amount", "Give an amount such as"),
        ({"amount": "1,5"}, "amount", "Give an amount such as"),
        ({"currency": "xxx"}, "currency", "Select a valid choice"),
        ({"destination": "elsewhere"}, "destination", "Select a valid choice"),
        ({"description": "x" * 1001}, "description", "too long"),
        ({"statement_descriptor": "x" * 23}, "statement_descriptor", "too long"),
    ],
)
def test_a_refusal_stands_at_its_input_and_moves_nothing(
    owner: Client, shop: ApiClient, fields: dict[str, str], field: str, words: str
) -> None:
    page = ask(owner, shop, **fields)

    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert words in str(page.context["form"].errors[field])
    assert 'name="token" value="once"' in page.content.decode()
    assert (Payout.objects.count(), balance(shop)) == (0, 100_000)


def test_a_refused_form_is_sent_again_with_its_token(owner: Client, shop: ApiClient) -> None:
    ask(owner, shop, amount="1000.01")

    assert ask(owner, shop, amount="1000.00").status_code == 303
    assert balance(shop) == 0


def test_a_card_number_is_not_repeated_and_makes_nothing(owner: Client, shop: ApiClient) -> None:
    page = ask(owner, shop, description=GOOD_CARD)

    assert page.status_code == 400
    assert GOOD_CARD not in page.content.decode()
    assert not Payout.objects.exists()


def test_without_an_account_the_page_says_so(owner: Client, shop: ApiClient, settings: Any) -> None:
    PayoutAccount.objects.all().delete()

    page = read(owner, shop, "create_payout")
    refused = ask(owner, shop, destination="")

    assert "No account of yours is registered" in page
    assert refused.status_code == 400
    assert list(refused.context["form"].errors) == ["destination"]


def test_a_restricted_merchant_is_told_why(owner: Client, shop: ApiClient) -> None:
    shop.merchant.payouts_enabled = False
    shop.merchant.save()

    page = ask(owner, shop)

    assert "does not allow this now" in page.content.decode()
    assert not Payout.objects.exists()


def test_a_pending_payout_is_called_off_once(owner: Client, shop: ApiClient) -> None:
    made = pay_out(shop)["id"]
    asked = read(owner, shop, "cancel_payout", made)

    answers = [call_off(owner, shop, made) for _ in range(2)]

    assert "the amount is available again" in asked
    assert [one.status_code for one in answers] == [303, 303]
    assert (Payout.objects.get().status, balance(shop)) == ("canceled", 100_000)
    assert AuditEntry.objects.filter(action="payout.canceled", subject=made).count() == 1
    assert "Payout canceled" in read(owner, shop, "payout", made)
    audit()


def test_what_has_left_is_not_called_off(owner: Client, shop: ApiClient) -> None:
    made = pay_out(shop)["id"]
    sent(made)

    page, asked = read(owner, shop, "payout", made), read(owner, shop, "cancel_payout", made)
    refused = call_off(owner, shop, made)

    assert "It has left for the bank." in page
    assert "/cancel" not in page
    assert "It has left for the bank." in asked
    assert refused.status_code == 400
    assert "left for the bank meanwhile" in refused.content.decode()
    assert Payout.objects.get().status == "in_transit"
    assert not AuditEntry.objects.filter(action="payout.canceled").exists()


@pytest.mark.parametrize("code", FailureCode.values)
def test_a_failure_is_told_in_words(owner: Client, shop: ApiClient, code: str) -> None:
    made = pay_out(shop, destination=f"test_{code}")["id"]
    sweep_after(DELAY)
    hear_after(5)

    page = read(owner, shop, "payout", made)

    assert f"<code>{code}</code>" in page
    assert "Failed" in page
    assert "Payout that came back" in page


def test_one_that_came_back_and_one_that_is_paid_say_so(owner: Client, shop: ApiClient) -> None:
    paid, back = (pay_out(shop, destination=to)["id"] for to in ("main", "test_bounced"))
    sweep_after(DELAY)
    hear_after(5)
    hear_after(60)

    pages = [read(owner, shop, "payout", one) for one in (paid, back)]

    assert "The money has arrived on your account." in pages[0]
    assert "Arrived" in pages[0]
    assert "The account has been closed." in pages[1]
    assert "available again" in pages[1]


def test_finance_sees_no_events_and_developers_cannot_cancel(shop: ApiClient) -> None:
    made = pay_out(shop)["id"]
    pages = {}
    for role in ("finance", "developer"):
        client = signed_in(person(f"{role}@acme.example", (shop.merchant, role)))
        pages[role] = read(client, shop, "payout", made)
        status = call_off(client, shop, made).status_code
        assert status == (303 if role == "finance" else 403)

    assert "payout.created" not in pages["finance"]
    assert "payout.created" in pages["developer"]
    assert "/cancel" in pages["finance"]
    assert "/cancel" not in pages["developer"]
    assert "Not possible now" not in pages["developer"]


def test_the_list_is_the_apis(owner: Client, shop: ApiClient, globex: ApiClient) -> None:
    made = [pay_out(shop, 1000 + number)["id"] for number in range(3)]
    shop.post(f"/v1/payouts/{made[0]}/cancel")
    pay_out(rich(globex))

    for query in ("", "status[]=pending", "sort=amount", "sort=-arrival_date", "currency=usd",
                  "arrival_date[gte]=4000000000", "created[lt]=1000000000"):  # fmt: skip
        page = owner.get(f"{address('payouts', shop.merchant.id)}?{query}")
        answer = shop.get(f"/v1/payouts?{query}")
        assert [row.id for row in page.context["page"].rows] == [
            row["id"] for row in answer["data"]
        ], query


def test_days_of_arrival_become_the_apis_parameters(owner: Client, shop: ApiClient) -> None:
    days = {"arrival_from": "2026-01-31", "arrival_to": "2026-01-31", "currency": "try"}

    led = owner.get(address("payouts", shop.merchant.id), days)
    page = owner.get(led.url).content.decode()
    wrong = owner.get(
        address("payouts", shop.merchant.id),
        {"arrival_from": "2026-02-02", "arrival_to": "2026-02-01"},
    )

    assert led.url.partition("?")[2] == (
        "currency=try&arrival_date%5Bgte%5D=1769806800&arrival_date%5Blt%5D=1769893200"
    )
    assert page.count('value="2026-01-31"') == 2
    assert "/v1/payouts?currency=try&amp;arrival_date" in page
    assert (wrong.status_code, list(wrong.context["form"].errors)) == (400, ["arrival_to"])
