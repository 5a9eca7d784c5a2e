"""Cards in form bodies stay secret, and a form sent again is the same request (contract 3, 6)."""

import json

import pytest

from core.detection import contains_card_number
from tests.stage.bank_transport import BankTransport
from tests.stage.books import logged, without_ids
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, payment, payment_method, unconfirmed
from tests.stage.form_writing import post_form
from tests.stage.refusals import assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = GOOD_CARD
CVC = "937"
PAYMENTS, CUSTOMERS = "/v1/payment_intents", "/v1/customers"


# --- Cards ------------------------------------------------------------------------------------


def test_a_forms_card_is_known_to_the_bank_and_to_nobody_else(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = post_form(acme, PAYMENTS, payment(payment_method_data=payment_method(cvc=CVC)))

    row = logged(answer)
    assert answer["card"]["last4"] == CARD[-4:]
    assert not contains_card_number(answer.response.content.decode() + row.request_body)
    assert CVC not in without_ids(row.request_body)


def test_the_request_log_shows_a_form_as_the_json_it_stands_for(
    acme: ApiClient, bank: BankTransport
) -> None:
    body = unconfirmed(metadata={"a": "1"}, expand=["customer"])

    shown = json.loads(logged(post_form(acme, PAYMENTS, body)).request_body)

    assert (shown["amount"], shown["confirm"]) == ("12500", "false")
    assert (shown["metadata"], shown["expand"]) == ({"a": "1"}, ["customer"])
    assert shown["payment_method_data"]["card"] == {
        "number": "424242******4242", "exp_month": "12", "exp_year": "2040",
    }  # fmt: skip


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    ("form", "param"),
    [
        (f"description={CARD}", "description"),
        ("description=4242+4242%204242-4242", "description"),
        ("description=%34" + CARD[1:], "description"),
        (f"amount={CARD}", "amount"),
        (f"metadata[a]={CARD}", "metadata[a]"),
        (f"metadata[a][0]={CARD}", "metadata[a][0]"),
        (f"metadata[]={CARD}", "metadata[0]"),
        (f"expand[]={CARD}", "expand[0]"),
        (f"payment_method_data[number]={CARD}", "payment_method_data[number]"),
        (f"payment_method_data[card]={CARD}", "payment_method_data[card]"),
        (f"payment_method_data[card][]={CARD}", "payment_method_data[card][0]"),
        (f"payment_method_data[card][cvc]={CARD}", "payment_method_data[card][cvc]"),
        (f"payment_method_data[card][number][a]={CARD}", None),
        (f"{CARD}=a", "424242******4242"),
        (f"metadata[{CARD}]=a", "metadata[424242******4242]"),
        ("metadata[4242+4242+4242+4242]=a", "metadata[424242******4242]"),
        ("cvc=937", "cvc"),
        ("metadata[cvc]=937", "metadata[cvc]"),
        ("metadata[a][0][security_code]=937", "metadata[a][0][security_code]"),
        ("payment_method_data[cvv]=937", "payment_method_data[cvv]"),
    ],
)  # fmt: skip
def test_card_data_elsewhere_is_refused_with_its_path(
    acme: ApiClient, form: str, param: str | None
) -> None:
    answer = post_form(acme, PAYMENTS, form, idempotency_key="k")

    code = "card_data_not_allowed" if param else "parameter_invalid"
    assert answer.refusal == (400, code, param or "payment_method_data[card][number]")
    assert not contains_card_number(answer.response.content.decode())
    shown = logged(answer)
    assert not contains_card_number(f"{shown.request_body} {shown.response_body}")
    assert CVC not in without_ids(f"{shown.request_body} {shown.response_body}")
    assert_nothing_stored()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "form",
    [
        json.dumps(payment(payment_method_data=payment_method(cvc=CVC))),
        json.dumps(payment(payment_method_data=payment_method(cvc=CVC), return_url="https://a/?b=c")),
        f"payment_method_data[card][number={CARD}",
        f"payment_method_data[card][number]{CARD}=1",
        f"description={CARD}&description={CARD}",
        f"payment_method_data[card][number]={CARD}&payment_method_data[card][number]={CARD}",
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_read_shows_nothing_of_its_card(acme: ApiClient, form: str) -> None:
    answer = post_form(acme, PAYMENTS, form)

    row = logged(answer)
    said = f"{answer.response.content.decode()} {row.request_body} {row.response_body}"
    assert answer.status == 400
    assert not contains_card_number(said)
    assert CVC not in without_ids(said)


# --- Idempotency ------------------------------------------------------------------------------


def test_a_form_sent_again_is_answered_again(acme: ApiClient) -> None:
    first = post_form(acme, CUSTOMERS, "name=Ada+L&metadata[a]=1", idempotency_key="k")

    again = post_form(acme, CUSTOMERS, "metadata%5Ba%5D=1&name=Ada%20L", idempotency_key="k")

    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("other", ["amount=101&currency=try", "amount=100&currency=usd"])
def test_another_form_with_the_key_is_refused(acme: ApiClient, other: str) -> None:
    post_form(acme, PAYMENTS, "amount=100&currency=try", idempotency_key="k")

    answer = post_form(acme, PAYMENTS, other, idempotency_key="k")

    assert answer.refusal == (400, "idempotency_key_reused", None)


def test_json_is_another_request_than_a_form(acme: ApiClient) -> None:
    post_form(acme, PAYMENTS, "amount=100&currency=try", idempotency_key="k")

    answer = acme.post(PAYMENTS, {"amount": 100, "currency": "try"}, idempotency_key="k")

    assert answer.refusal == (400, "idempotency_key_reused", None)
