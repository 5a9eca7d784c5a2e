"""Each door of a name that people read asks whether it can be read."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from merchants import accounts, keys
from merchants.models import Merchant
from merchants.refusals import ChangeRefused
from panel.account.forms import PasskeyNameForm
from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import ApiClient
from tests.stage.factories import payment, payment_method

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NAME = "Acme\u202egnp.exe"  # The rule itself: tests/core/test_names.py.
CUSTOMERS, PAYMENTS, HOOKS = "/v1/customers", "/v1/payment_intents", "/v1/webhook_endpoints"


def billed() -> dict[str, Any]:
    method = payment_method()
    method["billing_details"] |= {"name": NAME}
    return payment(payment_method_data=method)


def held() -> dict[str, Any]:
    return payment(payment_method_data=payment_method(holder_name=NAME))


def hook() -> dict[str, Any]:
    return {"url": "https://acme.example/h", "enabled_events": ["*"], "description": NAME}


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (CUSTOMERS, {"name": NAME}, "name"),
        (CUSTOMERS, {"shipping": {"name": NAME}}, "shipping[name]"),
        (PAYMENTS, billed(), "payment_method_data[billing_details][name]"),
        (PAYMENTS, held(), "payment_method_data[card][holder_name]"),
        (HOOKS, hook(), "description"),
    ],
    ids=["customer", "shipping", "billing", "holder", "endpoint"],
)
def test_the_api_refuses_it(
    path: str,
    body: dict[str, Any],
    param: str,
    acme: ApiClient,
    bank: BankTransport,
) -> None:
    answer = refused(acme, path, body, bank=bank)

    assert answer.refusal == (400, "parameter_invalid", param)


def test_a_merchant_is_neither_opened_nor_renamed_so(acme: ApiClient) -> None:
    account = {"reference": "main", "holder_name": NAME, "iban": "TR330006100519786457841326"}
    with pytest.raises(ValidationError):
        accounts.open_account(name=NAME, email="eve@shop.example")
    for changes in ({"name": NAME}, {"legal_name": NAME}, {"add_payout_account": account}):
        with pytest.raises(ChangeRefused, match="one line"):
            accounts.change(acme.merchant, changes, reason="A test.")

    assert [*Merchant.objects.values_list("name", flat=True)] == ["Acme Store"]


def test_no_key_and_no_passkey_is_named_so(acme: ApiClient) -> None:
    with pytest.raises(keys.KeyRefused, match="invisible character"):
        keys.create(acme.merchant, name=NAME)
    passkey = SimpleNamespace(wrap=lambda: SimpleNamespace(name="Phone"))
    assert not PasskeyNameForm({"name": NAME}, instance=passkey).is_valid()
    assert PasskeyNameForm({"name": "Laptop"}, instance=passkey).is_valid()
