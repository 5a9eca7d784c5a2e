"""The adapter of NestPay, a terminal that is stored nowhere, and a bank that says what it is told.

Nothing here knows the bank's stub: what is expected was written down from the protocol's notes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Order
from acquirers.models import Terminal
from acquirers.nestpay.gateway import NestPayGateway
from core.cards import CardData
from tests.stage.scripted_bank import ScriptedBank, scripted_bank

REFERENCE = "0RDER0RDER0RDER0RDER"
CALLBACK = "https://pay.example/3ds/att_1.mac/return"
CARD = "4242424242424242"
VALUES = {
    "gate_url": "https://bank.example/fim/est3Dgate",
    "model": "3d",
    "client_id": "190100000",
    "user": "api",
    "password": "a <password> & more",
    "store_key": "123456",
    "accepts_attempted": "no",
}


class Sealed(str):
    """Stands for a sealed card; the vault has tests of its own."""

    token = "tok_1"


@pytest.fixture(scope="module")
def bank() -> Iterator[ScriptedBank]:
    with scripted_bank() as bank:
        yield bank


@pytest.fixture
def gateway() -> NestPayGateway:
    return NestPayGateway()


@pytest.fixture
def order_at() -> Callable[..., Order]:
    """Make an order at a terminal with values of its own."""

    def order(url: str = "https://bank.example/fim/api", **values: Any) -> Order:
        terms = {name: values.pop(name) for name in [*values] if name in Order.__slots__}
        shown = {**VALUES, "api_url": url, **values}
        terminal = Terminal(name="nestpay", kind="nestpay", shown_values=shown)
        return Order(**{
            "reference": REFERENCE, "terminal": terminal, "merchant_id": "mer_acme",
            "amount": 10025, "currency": "try", **terms,
        })  # fmt: skip

    return order


@pytest.fixture
def order(bank: ScriptedBank, order_at: Callable[..., Order]) -> Order:
    return order_at(bank.url)


@pytest.fixture(autouse=True)
def _vault_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    def reveal(sealed: Any) -> CardData:
        return CardData(number=str(sealed), exp_month=3, exp_year=2034, holder_name="Ada")

    monkeypatch.setattr("vault.reveal.reveal", reveal)


def payment(order: Order, **changes: Any) -> AuthorizationRequest:
    return AuthorizationRequest(**{
        "order": order, "capture": True, "sealed": Sealed(CARD), "cvc": "000", **changes
    })  # fmt: skip


def authentication(order: Order, **changes: Any) -> AuthenticationRequest:
    return AuthenticationRequest(**{
        "order": order, "capture": True, "merchant_name": "Acme", "callback_url": CALLBACK,
        "return_url": "https://acme.example/back", "sealed": Sealed(CARD), "cvc": "000", **changes,
    })  # fmt: skip
