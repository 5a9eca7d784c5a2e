"""The adapter of NestPay, a terminal that is stored nowhere, and a bank that says what it is told.

Nothing here knows the bank's stub: what is expected was written down from the protocol's notes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.nestpay.gateway import NestPayGateway
from tests.stage.adapters import REFERENCE, open_the_vault
from tests.stage.scripted_bank import ScriptedBank, scripted_bank

VALUES = {
    "gate_url": "https://bank.example/fim/est3Dgate",
    "model": "3d",
    "client_id": "190100000",
    "user": "api",
    "password": "a <password> & more",
    "store_key": "123456",
    "accepts_attempted": "no",
}


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
    open_the_vault(monkeypatch)
