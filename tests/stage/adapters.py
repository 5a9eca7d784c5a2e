"""Requests of tests to adapters, with a card that opens, about an order."""

from typing import Any

import pytest

from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Order
from core.cards import CardData

REFERENCE = "0RDER0RDER0RDER0RDER"
CALLBACK = "https://pay.example/3ds/att_1.mac/return"
CARD = "4242424242424242"


class Sealed(str):
    """Stands for a sealed card; the vault has tests of its own."""

    token = "tok_1"


def open_the_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every sealed card open, to its own text as the number."""

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
