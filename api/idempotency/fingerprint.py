"""Fingerprints of requests, by which a retry is known (contract 6)."""

import json
from functools import partial
from typing import Any

from core.keyring import ring
from core.keyring.purposes import marked
from core.rest.parsers import CardInput

PURPOSE = "idempotency"


def of(method_and_path: str, body: Any) -> list[bytes]:
    """Return bytes that another method, path or body would not have, under each of the keys.

    32 each, behind the name of a later key. The first are of the primary key. A card counts with
    its number, but without its security code, of which nothing is kept.

    :param body: as the parsers return it; the order of its names does not matter.
    """
    return [_under(name, method_and_path, body) for name in ring().names(PURPOSE)]


def _under(key: str, method_and_path: str, body: Any) -> bytes:
    # Keyed: a plain hash of a body with a card number in it can be tried out.
    canonical = json.dumps([method_and_path, body], sort_keys=True, default=partial(_card, key))
    return marked(key, ring().mac(PURPOSE, canonical.encode(), key=key))


def _card(key: str, card: Any) -> dict[str, Any]:
    if not isinstance(card, CardInput):
        raise TypeError("only a card has no JSON form here")
    number = json.dumps(card.fields.get("number"))
    shown = {name: value for name, value in card.fields.items() if name != "cvc"}
    return {**shown, "number": ring().mac(PURPOSE, number.encode(), key=key).hex()}
