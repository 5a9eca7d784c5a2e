"""A search leads straight to the thing: a customer, a request, or the payments that it narrows."""

import pytest
from django.test import Client

from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory, RequestLogFactory, shown_card
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def led(client: Client, acme: ApiClient, q: str) -> str:
    """Return where a search leads, below the merchant's address; nothing if it shows a page."""
    answer = client.get(f"/panel/{acme.merchant.id}/search", {"q": q})
    assert answer.status_code in (200, 302), answer.content
    return answer.get("Location", "").removeprefix(f"/panel/{acme.merchant.id}")


def shown(client: Client, acme: ApiClient, q: str) -> str:
    return client.get(f"/panel/{acme.merchant.id}/search", {"q": q}).content.decode()


def paid(acme: ApiClient, amount: int, last4: str, **more: object) -> str:
    sums = dict.fromkeys(("amount", "authorized_minor", "captured_minor"), amount)
    row = PaymentFactory(merchant=acme.merchant, **sums, **more)
    row.card = shown_card(row.sealed_card) | {"last4": last4}
    row.save(update_fields=["card"])
    return str(row.pk)


def test_the_email_of_one_customer_leads_to_them(owner: Client, acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"email": "ada@x.example"})["id"]
    for _ in range(2):
        acme.post("/v1/customers", {"email": "eve@x.example"})

    assert led(owner, acme, " ADA@x.example ") == f"/customers/{customer}"
    assert led(owner, acme, "eve@x.example") == ""


def test_an_idempotency_key_leads_to_its_request(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    row = RequestLogFactory(merchant=acme.merchant, idempotency_key="order-1001")
    for _ in range(2):
        RequestLogFactory(merchant=acme.merchant, idempotency_key="order 1002")
    RequestLogFactory(merchant=globex.merchant, idempotency_key="order-1003")
    finance = signed_in(person("fin@acme.example", (acme.merchant, "finance")))

    assert led(owner, acme, "order-1001") == f"/request_logs/{row.pk}"
    assert led(owner, acme, "order 1002") == "/request_logs?idempotency_key=order+1002"
    assert led(owner, acme, "order-1003") == ""
    assert led(finance, acme, "order-1001") == ""


def test_an_id_that_was_an_idempotency_key_too_leads_to_its_object(
    owner: Client, acme: ApiClient
) -> None:
    payment = paid(acme, 12500, "4242")
    RequestLogFactory(merchant=acme.merchant, idempotency_key=payment)

    assert led(owner, acme, payment) == f"/payments/{payment}"


def test_last_four_digits_lead_to_the_payments_of_the_card(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    one = paid(acme, 25540, "0058")
    for _ in range(2):
        paid(acme, 25540, "4242")
    paid(globex, 25540, "9999")

    assert led(owner, acme, "0058") == f"/payments/{one}"
    assert led(owner, acme, "4242") == "/payments?last4=4242"
    assert led(owner, acme, "9999") == ""


@pytest.mark.parametrize(
    ("language", "typed"), [("en", "1,255.40"), ("en", "₺1255.40"), ("tr", "1.255,40")]
)
def test_an_amount_as_people_write_it_leads_to_its_payment(
    owner: Client, acme: ApiClient, language: str, typed: str
) -> None:
    one = paid(acme, 125540, "0058")
    paid(acme, 125541, "0058")
    owner.cookies["language"] = language

    assert led(owner, acme, typed) == f"/payments/{one}"


def test_a_text_that_may_be_several_things_shows_all_ways(owner: Client, acme: ApiClient) -> None:
    described = paid(acme, 100, "1111", description="1250 pieces")
    paid(acme, 125000, "1250")

    page = shown(owner, acme, "1250")

    assert led(owner, acme, "1250") == ""
    assert f"<code>{described}</code>" in page
    assert "Payments with the card •••• 1250" in page
    assert "Payments of the amount ₺1,250.00" in page
    assert "?amount=125000&amp;currency=try" in page


@pytest.mark.parametrize("typed", ["0", "99999999999999.00", "12345678901234567890", "4 242", "-5"])
def test_odd_numbers_find_nothing(owner: Client, acme: ApiClient, typed: str) -> None:
    paid(acme, 500, "0000")

    assert "Nothing was found" in shown(owner, acme, typed)


def test_an_empty_search_says_what_can_be_searched(owner: Client, acme: ApiClient) -> None:
    page = shown(owner, acme, "")

    for words in ("Idempotency-Key", "an amount", "last four digits"):
        assert words in page


def test_last4_is_a_filter_of_the_list(owner: Client, acme: ApiClient) -> None:
    one, _other = paid(acme, 100, "0058"), paid(acme, 100, "4242")

    found = acme.get("/v1/payment_intents?last4=0058")["data"]
    page = owner.get(f"/panel/{acme.merchant.id}/payments?last4=0058").content.decode()
    wrong = owner.get(f"/panel/{acme.merchant.id}/payments?last4=58")

    assert [row["id"] for row in found] == [one]
    assert page.count('class="amt-cell"') == 1
    assert 'value="0058"' in page
    assert wrong.status_code == 400
    assert "Give the last four digits of the card." in wrong.content.decode()
