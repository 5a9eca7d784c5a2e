"""Each door of a name that people read asks whether it can be read."""

from collections.abc import Callable
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

TURNED, HIDDEN, BROKEN = "Acme\u202egnp.exe", "\u3164\u200b", "Acme\nBcc"
NAMES = pytest.mark.parametrize(
    "name", [TURNED, HIDDEN, BROKEN], ids=["turned", "hidden", "broken"]
)
CUSTOMERS, PAYMENTS, HOOKS = "/v1/customers", "/v1/payment_intents", "/v1/webhook_endpoints"


def billed(name: str) -> dict[str, Any]:
    method = payment_method()
    method["billing_details"] |= {"name": name}
    return payment(payment_method_data=method)


def held(name: str) -> dict[str, Any]:
    return payment(payment_method_data=payment_method(holder_name=name))


def hook(name: str) -> dict[str, Any]:
    return {"url": "https://acme.example/h", "enabled_events": ["*"], "description": name}


@NAMES
@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (CUSTOMERS, lambda name: {"name": name}, "name"),
        (CUSTOMERS, lambda name: {"shipping": {"name": name}}, "shipping[name]"),
        (PAYMENTS, billed, "payment_method_data[billing_details][name]"),
        (PAYMENTS, held, "payment_method_data[card][holder_name]"),
        (HOOKS, hook, "description"),
    ],
    ids=["customer", "shipping", "billing", "holder", "endpoint"],
)
def test_the_api_refuses_it(
    path: str,
    body: Callable[[str], dict[str, Any]],
    param: str,
    name: str,
    acme: ApiClient,
    bank: BankTransport,
) -> None:
    answer = refused(acme, path, body(name), bank=bank)

    assert answer.refusal == (400, "parameter_invalid", param)


@NAMES
def test_a_merchant_is_neither_opened_nor_renamed_so(name: str, acme: ApiClient) -> None:
    account = {"reference": "main", "holder_name": name, "iban": "TR330006100519786457841326"}
    with pytest.raises(ValidationError):
        accounts.open_account(name=name, email="eve@shop.example")
    for changes in ({"name": name}, {"legal_name": name}, {"add_payout_account": account}):
        with pytest.raises(ChangeRefused, match="one line"):
            accounts.change(acme.merchant, changes, reason="A test.")

    assert [*Merchant.objects.values_list("name", flat=True)] == ["Acme Store"]


@NAMES
def test_no_key_and_no_passkey_is_named_so(name: str, acme: ApiClient) -> None:
    with pytest.raises(keys.KeyRefused, match="invisible character"):
        keys.create(acme.merchant, name=name)
    passkey = SimpleNamespace(wrap=lambda: SimpleNamespace(name="Phone"))
    assert not PasskeyNameForm({"name": name}, instance=passkey).is_valid()
    assert PasskeyNameForm({"name": "Laptop"}, instance=passkey).is_valid()
