"""The terms of a merchant that the ledger keeps; its app registers them."""

from collections.abc import Iterable, Mapping
from typing import Any

from ledger import prices
from merchants.models import Merchant
from merchants.terms import Term, refused


def _replace_prices(merchant: Merchant, rows: Iterable[Mapping[str, Any]]) -> None:
    with refused("prices"):
        prices.replace(merchant, rows)


TERMS = (Term("prices", prices.shown, _replace_prices, "price.changed"),)
