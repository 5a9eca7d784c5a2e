"""Bodies of sessions that are refused, each by its own name; nothing is stored then."""

from typing import Any

import pytest

from core import clock
from merchants.models import Merchant
from payments.checkout.models import CheckoutSession
from payments.intents.models import PaymentIntent
from tests.stage.checkouts import SESSIONS, of_amount, opened, over, priced_line, session, waiting
from tests.stage.client import ApiClient
from tests.stage.factories import line, payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400
MOST = 999_999_999_999
OWN = {"currency": "try"}
OF_LINES: list[tuple[dict[str, Any], tuple[str, str | None]]] = [
    ({}, ("parameter_missing", "line_items")),
    (OWN, ("parameter_missing", "amount")),
    ({"amount": 5}, ("parameter_missing", "currency")),
    ({"line_items": [line(5)]}, ("parameter_missing", "currency")),
    ({"line_items": [], **OWN}, ("parameter_invalid", "line_items")),
    ({"line_items": [line(5)] * 101, **OWN}, ("parameter_invalid", "line_items")),
    ({"line_items": [line(0)], **OWN}, ("amount_too_small", "line_items")),
    ({"line_items": [line(MOST)] * 2, **OWN}, ("amount_too_large", "line_items")),
    ({"line_items": [{"name": "x"}], **OWN}, ("parameter_missing", "line_items[0][unit_amount]")),
    ({"line_items": [{"quantity": 1}], **OWN}, ("parameter_missing", "line_items[0][name]")),
    ({"line_items": [line(5)], "amount": 5, **OWN}, ("parameters_exclusive", "amount")),
    ({"line_items": [line(5), priced_line()], **OWN}, ("parameters_exclusive", "line_items")),
    ({"line_items": [priced_line(), line(5)], **OWN}, ("parameters_exclusive", "line_items")),
    ({"line_items": [priced_line(name="x")]}, ("parameters_exclusive", "line_items")),
    (
        {"line_items": [priced_line(), priced_line(currency="usd")]},
        ("parameter_invalid", "line_items[1][price_data][currency]"),
    ),
    ({"line_items": [priced_line()], "currency": "usd"}, ("parameter_invalid", "currency")),
    (
        {"line_items": [{"price": "price_1", "quantity": 1}]},
        ("parameter_unknown", "line_items[0][price]"),
    ),
    (
        {"line_items": [{"price_data": {**priced_line()["price_data"], "recurring": {}}}]},
        ("parameter_unknown", "line_items[0][price_data][recurring]"),
    ),
    ({"payment_intent": "pi_x", "amount": 5}, ("parameters_exclusive", "amount")),
    ({"payment_intent": "pi_x", **OWN}, ("parameters_exclusive", "currency")),
    (
        {"payment_intent": "pi_x", "payment_intent_data": {"description": "x"}},
        ("parameters_exclusive", "payment_intent_data"),
    ),
]
CARD_OPTIONS = "payment_method_options[card]"
OF_THE_REST: list[tuple[dict[str, Any], tuple[str, str | None]]] = [
    ({"mode": "subscription"}, ("parameter_invalid", "mode")),
    ({"ui_mode": "embedded"}, ("parameter_invalid", "ui_mode")),
    ({"payment_method_types": ["card", "klarna"]}, ("parameter_invalid", "payment_method_types")),
    ({"submit_type": "donate"}, ("parameter_invalid", "submit_type")),
    ({"allow_promotion_codes": True}, ("parameter_invalid", "allow_promotion_codes")),
    ({"automatic_tax": {"enabled": True}}, ("parameter_invalid", "automatic_tax[enabled]")),
    ({"customer_creation": "always"}, ("parameter_invalid", "customer_creation")),
    ({"locale": "de"}, ("parameter_invalid", "locale")),
    ({"shipping_options": []}, ("parameter_unknown", "shipping_options")),
    ({"expires_at": "tomorrow"}, ("parameter_invalid", "expires_at")),
    ({"client_reference_id": "x" * 201}, ("parameter_invalid", "client_reference_id")),
    ({"customer": "cus_unknown"}, ("resource_missing", "customer")),
    ({"customer_email": "ayse"}, ("parameter_invalid", "customer_email")),
    (
        {"customer_email": "a@acme.example", "billing_details": {"email": "b@acme.example"}},
        ("parameters_exclusive", "customer_email"),
    ),
    (
        {"payment_method_options": {"card": {"three_d_secure": "none"}}},
        ("parameter_invalid", f"{CARD_OPTIONS}[three_d_secure]"),
    ),
    (
        {"payment_method_options": {"card": {"installments": {"max": 1}}}},
        ("parameter_invalid", f"{CARD_OPTIONS}[installments][max]"),
    ),
]
CARD = "4242 4242 4242 4242"


def named_line(**product: str) -> dict[str, Any]:
    """A line of Stripe's form, with a product of its own."""
    made = priced_line()
    return {**made, "price_data": {**made["price_data"], "product_data": product}}


def stored() -> tuple[int, int]:
    return CheckoutSession.objects.count(), PaymentIntent.objects.count()


@pytest.mark.parametrize(("body", "refusal"), OF_LINES)
def test_what_is_paid_is_said_once_and_in_one_form(
    acme: ApiClient, body: dict[str, Any], refusal: tuple[str, str]
) -> None:
    answer = acme.post(SESSIONS, body)

    assert (answer.refusal[1:], stored()) == (refusal, (0, 0))


@pytest.mark.parametrize(("change", "refusal"), OF_THE_REST)
def test_what_would_not_be_true_here_is_refused(
    acme: ApiClient, change: dict[str, Any], refusal: tuple[str, str]
) -> None:
    answer = acme.post(SESSIONS, of_amount(**change))

    code, param = answer.refusal[1:]
    assert (code, param.split("[1]")[0], stored()) == (*refusal, (0, 0))


@pytest.mark.parametrize("lives", [-1, 299, 30 * DAY + 2])
def test_it_ends_neither_too_early_nor_too_late(acme: ApiClient, lives: int) -> None:
    at = clock.unix(clock.now()) + lives

    answer = acme.post(SESSIONS, of_amount(expires_at=at))

    assert answer.refusal == (400, "parameter_invalid", "expires_at")


@pytest.mark.parametrize("name", ["success_url", "cancel_url"])
@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/ok",
        "javascript:alert(1)",
        "https://user@acme.example/ok",
        "https://{CHECKOUT_SESSION_ID}.acme.example/ok",
        "https://acme.example:{CHECKOUT_SESSION_ID}/ok",
        "{CHECKOUT_SESSION_ID}://acme.example/ok",
        "https://acme.example/" + "x" * 2000,
    ],
)
def test_an_address_that_is_not_the_shops_is_refused_by_its_name(
    acme: ApiClient, name: str, address: str
) -> None:
    answer = acme.post(SESSIONS, of_amount(**{name: address}))

    assert answer.refusal == (400, "return_url_not_allowed", name)


@pytest.mark.parametrize(
    "rest",
    [
        "/{CHECKOUT_SESSION_ID}/ok",
        "/ok?s={CHECKOUT_SESSION_ID}",
        "#{CHECKOUT_SESSION_ID}",
        "/{CHECKOUT_SESSION_ID}?s={CHECKOUT_SESSION_ID}",
    ],
)
def test_the_sessions_id_may_stand_behind_the_host(acme: ApiClient, rest: str) -> None:
    made = opened(acme, success_url=f"https://acme.example{rest}")

    assert made["success_url"] == f"https://acme.example{rest}"


@pytest.mark.parametrize("number_in", [
    {"client_reference_id": CARD}, {"metadata": {"a": CARD}},
    {"payment_intent_data": {"description": CARD}}, {"billing_details": {"name": CARD}},
    {"billing_details": {"address": {"line1": CARD}}},
    {"success_url": "https://acme.example/4242424242424242"},
    {"cancel_url": "https://acme.example/?n=4242424242424242"},
    {"customer_email": "4242424242424242@acme.example"},
    {"payment_intent_data": {"metadata": {"a": CARD}}}, {"metadata": {CARD: "a"}},
    {"billing_details": {"address": {"city": CARD}}},
    {"amount": None, "line_items": [line(5, name=CARD)]},
    {"amount": None, "line_items": [named_line(name=CARD)]},
    {"amount": None, "line_items": [named_line(name="Tea", description=CARD)]},
])  # fmt: skip
def test_a_card_number_in_any_text_is_refused(acme: ApiClient, number_in: dict[str, Any]) -> None:
    answer = acme.post(SESSIONS, of_amount(**number_in))

    assert (answer.refusal[1], stored()) == ("card_data_not_allowed", (0, 0))


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202eevil", "x" * 500, "Çay 🫖"])
def test_any_name_is_taken_as_it_is_and_never_as_markup(acme: ApiClient, text: str) -> None:
    made = acme.post(
        SESSIONS, {"line_items": [line(5, name=text)], **OWN, "expand": ["line_items"]}
    )

    assert made["line_items"]["data"][0]["name"] == text


# --- Over a payment ----------------------------------------------------------------------------


def test_a_second_open_session_is_refused_with_the_first(acme: ApiClient) -> None:
    payment_id = waiting(acme)
    first = over(acme, payment_id)

    second = over(acme, payment_id)

    assert second.refusal == (400, "checkout_session_unexpected_state", None)
    assert second.error["checkout_session"] == first.body
    acme.post(f"{SESSIONS}/{first['id']}/expire")
    assert over(acme, payment_id).status == 200
    assert session(acme, first["id"])["status"] == "expired"


def test_a_payment_that_waits_for_no_card_is_refused(acme: ApiClient, bank: Any) -> None:
    paid = acme.pay()
    canceled = waiting(acme)
    acme.post(f"/v1/payment_intents/{canceled}/cancel")
    with_card = acme.post("/v1/payment_intents", payment(confirm=False))
    assert with_card["status"] == "requires_confirmation"

    for payment_id in (paid["id"], canceled, with_card["id"]):
        answer = over(acme, payment_id)
        assert answer.refusal == (400, "payment_intent_unexpected_state", None)
        assert answer.error["payment_intent"]["id"] == payment_id


def test_an_unknown_payment_is_refused(acme: ApiClient) -> None:
    for unknown in ("pi_unknown", "", "cs_1", "pi_\x00"):
        answer = over(acme, unknown)
        assert (answer.status in (400, 404), stored()) == (True, (0, 0)), answer.body


def test_a_payment_keeps_its_customer(acme: ApiClient) -> None:
    ayse, mehmet = (acme.post("/v1/customers", {"name": one})["id"] for one in ("Ayşe", "Mehmet"))
    payment_id = waiting(acme, customer=ayse)

    refused = over(acme, payment_id, customer=mehmet)

    assert refused.refusal == (400, "parameter_invalid", "customer")
    assert over(acme, payment_id, customer=ayse)["customer"] == ayse


@pytest.mark.parametrize("status", ["restricted", "closed"])
def test_an_account_that_may_not_charge_gets_none(acme: ApiClient, status: str) -> None:
    Merchant.objects.filter(id=acme.merchant.id).update(status=status)

    assert acme.post(SESSIONS, of_amount()).status in (400, 403)
    assert stored() == (0, 0)
