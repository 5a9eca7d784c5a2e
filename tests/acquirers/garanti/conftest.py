"""The adapter of Garanti, a terminal that is stored nowhere, and a bank that says what it is told.

Nothing here knows the bank's stub: what is expected was written down from the protocol's notes.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from acquirers.garanti.gateway import GarantiGateway
from acquirers.gateway import Order
from acquirers.models import Terminal
from tests.stage.adapters import REFERENCE, open_the_vault
from tests.stage.scripted_bank import ScriptedBank, scripted_bank

VALUES = {
    "gate_url": "https://bank.example/servlet/gt3dengine",
    "model": "3d",
    "mode": "TEST",
    "merchant_id": "7000679",
    "terminal_id": "30691298",
    "user": "PROVAUT",
    "password": "123qweASD/",
    "refund_user": "PROVRFN",
    "refund_password": "a <refund> & more",
    "store_key": "12345678",
    "ip_address": "198.51.100.7",
    "accepts_attempted": "no",
}
# The bank's number of the payment, as the attempt keeps it.
NUMBER = "407000985165"


@pytest.fixture(scope="module")
def bank() -> Iterator[ScriptedBank]:
    with scripted_bank() as bank:
        yield bank


@pytest.fixture
def gateway() -> GarantiGateway:
    return GarantiGateway()


@pytest.fixture
def order_at() -> Callable[..., Order]:
    """Make an order at a terminal with values of its own."""

    def order(url: str = "https://bank.example/VPServlet", **values: Any) -> Order:
        terms = {name: values.pop(name) for name in [*values] if name in Order.__slots__}
        shown = {**VALUES, "api_url": url, **values}
        terminal = Terminal(name="garanti", kind="garanti", shown_values=shown)
        return Order(**{
            "reference": REFERENCE, "terminal": terminal, "merchant_id": "mer_acme",
            "amount": 10025, "currency": "try", "numbers": {"network_reference": NUMBER}, **terms,
        })  # fmt: skip

    return order


@pytest.fixture
def order(bank: ScriptedBank, order_at: Callable[..., Order]) -> Order:
    return order_at(bank.url)


@pytest.fixture(autouse=True)
def _vault_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    open_the_vault(monkeypatch)


@pytest.fixture(autouse=True)
def _clock_of_the_recorded_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.clock.now", lambda: datetime(2024, 3, 12, 21, 0, tzinfo=UTC))
