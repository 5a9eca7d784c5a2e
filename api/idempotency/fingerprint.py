"""Fingerprints of requests, by which a retry is known (contract 6)."""

import json
from typing import Any

from core.keyring import ring
from core.rest.parsers import CardInput


def of(method_and_path: str, body: Any) -> bytes:
    """Return 32 bytes that another method, path or body would not have.

    A card counts with its number, but without its security code, of which nothing is kept.

    :param body: as the parsers return it; the order of its names does not matter.
    """
    # Keyed: a plain hash of a body with a card number in it can be tried out.
    canonical = json.dumps([method_and_path, body], sort_keys=True, default=_card)
    return ring().mac("idempotency", canonical.encode())


def _card(card: Any) -> dict[str, Any]:
    if not isinstance(card, CardInput):
        raise TypeError("only a card has no JSON form here")
    number = json.dumps(card.fields.get("number"))
    shown = {name: value for name, value in card.fields.items() if name != "cvc"}
    return {**shown, "number": ring().mac("card_fingerprint", number.encode()).hex()}
