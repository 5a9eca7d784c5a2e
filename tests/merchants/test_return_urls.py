"""Where payers may be sent back to: registered websites and callbacks only (contract 3)."""

import pytest

from merchants import sites
from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import ApiClient
from tests.stage.factories import payment, unconfirmed

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ALLOWED = [
    "https://acme.example",
    "https://acme.example/back?order=7#done",
    "https://shop.acme.example/back",
    "https://ACME.example:8443/back",
    "http://localhost:3000/return",
    "http://localhost:3000/return/7?order=7",
]
REFUSED = [
    "http://acme.example/back",
    "https://globex.example/back",
    "https://notacme.example/back",
    "https://acme.example.evil.example/back",
    "https://acme.example@evil.example/back",
    "https://evil.example\\@acme.example/back",
    "https://acme.example\n.evil.example",
    "http://localhost:3001/return",
    "https://localhost:3000/return",
    "http://localhost:3000/returning",
    "http://localhost:3000/return/../admin",
    "http://localhost:3000/return/%2e%2e/admin",
    "//acme.example/back",
    "acme.example/back",
    "javascript:alert(1)",
    "not an address",
    "https://acme.example/" + "a" * 2000,
]


@pytest.fixture
def shop(acme: ApiClient) -> ApiClient:
    """Acme with a callback beside its website."""
    sites.register_callback(acme.merchant, "http://localhost:3000/return")
    return acme


@pytest.mark.parametrize("address", ALLOWED)
def test_a_registered_address_is_taken_as_it_was_sent(
    address: str, shop: ApiClient, bank: BankTransport
) -> None:
    answer = shop.pay(return_url=address)

    assert (answer.status, answer["return_url"]) == (200, address)


@pytest.mark.every_case("no other address may be sent to")
@pytest.mark.parametrize("address", REFUSED)
@pytest.mark.parametrize("body", [payment(), unconfirmed()], ids=["confirm", "create"])
def test_any_other_address_is_refused(
    address: str, body: dict, shop: ApiClient, bank: BankTransport
) -> None:
    answer = refused(shop, "/v1/payment_intents", {**body, "return_url": address}, bank=bank)

    assert answer.refusal == (400, "return_url_not_allowed", "return_url")


def test_another_merchants_website_is_not_ones_own(
    shop: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    body = payment(return_url="https://acme.example/back")

    answer = refused(globex, "/v1/payment_intents", body, bank=bank)

    assert answer.refusal == (400, "return_url_not_allowed", "return_url")
