"""Wrong payments are refused by the parameter's name, before anything is stored or charged."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core import clock
from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import ApiClient
from tests.stage.factories import (
    DEBIT_CARD,
    GOOD_CARD,
    card,
    confirmation,
    line,
    payment,
    payment_method,
    three_d_secure,
    unconfirmed,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
CARD = "payment_method_data[card]"
BILLING = "payment_method_data[billing_details]"
UNLISTED_CARD = "4012888888881881"


def with_card(**changes: Any) -> dict[str, Any]:
    method = {**payment_method(), "card": card(**changes)}
    return payment(payment_method_data=method)


def without_billing(*path: str) -> dict[str, Any]:
    body = payment()
    details = body["payment_method_data"]["billing_details"]
    for name in path[:-1]:
        details = details[name]
    del details[path[-1]]
    return body


def of_country(code: str) -> dict[str, Any]:
    body = payment()
    body["payment_method_data"]["billing_details"]["address"]["country"] = code
    return body


REFUSED = {
    "no amount": (payment(amount=None), "parameter_missing", "amount"),
    "no currency": (payment(currency=None), "parameter_missing", "currency"),
    "no card": (payment(payment_method_data=None), "parameter_missing", "payment_method_data"),
    "amount 0": (payment(amount=0), "amount_too_small", "amount"),
    "amount -1": (payment(amount=-1), "amount_too_small", "amount"),
    "amount too large": (payment(amount=10**12), "amount_too_large", "amount"),
    "amount huge": (payment(amount=10**99), "amount_too_large", "amount"),
    "amount text": (payment(amount="12500"), "parameter_invalid", "amount"),
    "amount decimal": (payment(amount=12500.0), "parameter_invalid", "amount"),
    "amount true": (payment(amount=True), "parameter_invalid", "amount"),
    "currency unknown": (payment(currency="jpy"), "currency_not_supported", "currency"),
    "country": (of_country("UK"), "parameter_invalid", f"{BILLING}[address][country]"),
    "currency number": (payment(currency=949), "parameter_invalid", "currency"),
    "capture method": (
        payment(capture_method="sometime"), "parameter_invalid", "capture_method",
    ),
    "confirm text": (payment(confirm="true"), "parameter_invalid", "confirm"),
    "unknown parameter": (payment(capture_metod="manual"), "parameter_unknown", "capture_metod"),
    "unknown in card": (with_card(pin="8471"), "parameter_unknown", f"{CARD}[pin]"),
    "method type": (
        payment(payment_method_data={**payment_method(), "type": "sepa_debit"}),
        "parameter_invalid", "payment_method_data[type]",
    ),
    "card is text": (
        payment(payment_method_data={**payment_method(), "card": "tok_visa"}),
        "parameter_invalid", CARD,
    ),
    "no number": (with_card(number=None), "parameter_missing", f"{CARD}[number]"),
    "wrong number": (with_card(number="4242424242424241"), "incorrect_number", f"{CARD}[number]"),
    "short number": (with_card(number="42"), "incorrect_number", f"{CARD}[number]"),
    "unlisted": (payment(UNLISTED_CARD), "card_not_supported", f"{CARD}[number]"),
    "unlisted, unconfirmed": (
        unconfirmed(UNLISTED_CARD), "card_not_supported", f"{CARD}[number]",
    ),
    "no month": (with_card(exp_month=None), "parameter_missing", f"{CARD}[exp_month]"),
    "month 13": (with_card(exp_month=13), "invalid_expiry_month", f"{CARD}[exp_month]"),
    "year 40": (with_card(exp_year=40), "invalid_expiry_year", f"{CARD}[exp_year]"),
    "expired": (with_card(exp_year=2020), "expired_card", f"{CARD}[exp_year]"),
    "no cvc": (with_card(cvc=None), "parameter_missing", f"{CARD}[cvc]"),
    "cvc of 4": (with_card(cvc="8471"), "invalid_cvc", f"{CARD}[cvc]"),
    "cvc of letters": (with_card(cvc="abc"), "invalid_cvc", f"{CARD}[cvc]"),
    "three_d_secure": (
        payment(**three_d_secure("maybe")),
        "parameter_invalid", "payment_method_options[card][three_d_secure]",
    ),
    "debit, no way back": (payment(DEBIT_CARD), "parameter_missing", "return_url"),
    "required, no way back": (
        payment(**three_d_secure("required")), "parameter_missing", "return_url",
    ),
    "installments": (payment(installments=2), "installments_not_available", "installments"),
    "surcharge": (payment(surcharge=1), "surcharge_mismatch", "surcharge"),
    "lines": (payment(line_items=[line(12499)]), "line_items_amount_mismatch", "line_items"),
    "a line of null": (payment(line_items=[None]), "parameter_missing", "line_items[0]"),
    "a line without a price": (
        payment(line_items=[{"name": "Tea glass"}]),
        "parameter_missing", "line_items[0][unit_amount]",
    ),
    "201 lines": (payment(line_items=[line(1)] * 201), "parameter_invalid", "line_items"),
    "customer": (payment(customer="cus_nobody"), "resource_missing", "customer"),
    "description": (payment(description="x" * 1001), "parameter_invalid", "description"),
    "51 metadata keys": (
        payment(metadata={f"key{n}": "value" for n in range(51)}), "parameter_invalid", "metadata",
    ),
    "metadata number": (payment(metadata={"order": 7}), "parameter_invalid", "metadata[order]"),
    "card elsewhere": (
        payment(description=f"card {GOOD_CARD}"), "card_data_not_allowed", "description",
    ),
    "unknown expand": (payment(expand=["merchant"]), "parameter_invalid", "expand[]"),
    "e-mail": (
        payment(payment_method_data={**payment_method(), "billing_details": {"email": "ayse@"}}),
        "parameter_invalid", f"{BILLING}[email]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code", "param"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_refused_without_a_trace(
    body: dict[str, Any], code: str, param: str, acme: ApiClient, bank: BankTransport
) -> None:
    answer = refused(acme, PATH, body, bank=bank)

    status = 404 if code == "resource_missing" else 400
    assert answer.refusal == (status, code, param)
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "path",
    [("name",), ("email",), ("address", "line1"), ("address", "city"), ("address", "country")],
    ids=".".join,
)
def test_a_missing_billing_detail_is_named_in_full(
    path: tuple[str, ...], acme: ApiClient, bank: BankTransport
) -> None:
    answer = refused(acme, PATH, without_billing(*path), bank=bank)

    brackets = "".join(f"[{name}]" for name in path)
    assert answer.refusal == (400, "parameter_missing", BILLING + brackets)


def test_a_whole_address_that_is_missing_is_named_by_its_first_line(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = refused(acme, PATH, without_billing("address"), bank=bank)

    assert answer.refusal == (400, "parameter_missing", f"{BILLING}[address][line1]")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (confirmation(installments=2), "installments_not_available", "installments"),
        (confirmation(return_url="https://evil.example"), "return_url_not_allowed", "return_url"),
        (confirmation(DEBIT_CARD), "parameter_missing", "return_url"),
        (confirmation(UNLISTED_CARD), "card_not_supported", f"{CARD}[number]"),
        (confirmation(amount=12400), "parameter_unknown", "amount"),
        (confirmation(expand=["merchant"]), "parameter_invalid", "expand[]"),
    ],
)
def test_a_confirm_that_is_wrong_leaves_the_payment_as_it_was(
    body: dict[str, Any], code: str, param: str, acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post(PATH, unconfirmed())

    answer = refused(acme, f"{PATH}/{created['id']}/confirm", body, bank=bank)

    assert answer.refusal == (400, code, param)
    assert acme.payment(created["id"]).body == created.body
    assert acme.post(f"{PATH}/{created['id']}/confirm")["status"] == "succeeded"


def test_a_card_is_taken_until_its_month_is_over_everywhere(
    acme: ApiClient, bank: BankTransport
) -> None:
    # 23:59 of 30 November in the last place on earth, and 12:01 of the next day in UTC.
    year = clock.now().year + 1
    clock.advance(datetime(year, 12, 1, 11, 59, tzinfo=UTC) - clock.now())
    last_minute = acme.post(PATH, with_card(exp_month=11, exp_year=year))
    clock.advance(timedelta(minutes=2))

    too_late = refused(acme, PATH, with_card(exp_month=11, exp_year=year), bank=bank)

    assert last_minute["status"] == "succeeded"
    assert too_late.refusal == (400, "expired_card", f"{CARD}[exp_year]")


def test_a_restricted_merchant_takes_no_payments(acme: ApiClient, bank: BankTransport) -> None:
    acme.merchant.charges_enabled = False
    acme.merchant.save()

    assert refused(acme, PATH, payment(), bank=bank).refusal == (403, "merchant_restricted", None)
