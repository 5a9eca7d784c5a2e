"""The terminal of a new attempt: of the merchant's routes, the first one that fits.

An attempt keeps its terminal, and there is no second bank for it: two banks are two chances to
charge twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.utils.dateparse import parse_datetime

from acquirers.models import Route, Terminal
from acquirers.models.routes import CALLER, OF_MERCHANT
from core import prepared
from core.errors import NotSetUp
from merchants.models import Merchant

Card = Mapping[str, Any]


class Payment(NamedTuple):
    """The facts about an attempt by which it is routed.

    :param card: as it is frozen with a payment (`payments.installments.bins.frozen`).
    :param installments: the count; 1 is at once.
    """

    currency: str
    card: Card
    installments: int = 1


@dataclass(frozen=True, slots=True)
class Routes:
    """A merchant's open routes, first those that come first."""

    rows: tuple[Mapping[str, Any], ...]

    def require_open(self, currency: str) -> None:
        """:raises NotSetUp: no terminal takes new attempts of this currency."""
        if not any(_takes_currency(row, currency) for row in self.rows):
            raise NotSetUp("This installation has no acquirer yet.")

    def terminals_for(self, currency: str, card: Card) -> list[Terminal]:
        """Return the terminals that take the card, whatever the count, the first one first."""
        fitting = (row for row in self.rows if _fits_card(row, currency, card))
        return [_terminal(row) for row in {row["terminal_id"]: row for row in fitting}.values()]

    def terminal_for(self, payment: Payment) -> Terminal | None:
        """Return the terminal that an attempt goes to, None if no route fits."""
        row = next((row for row in self.rows if _fits(row, payment)), None)
        return _terminal(row) if row else None

    def take(self, payment: Payment) -> bool:
        return any(_fits(row, payment) for row in self.rows)


def routes_of(merchant: Merchant) -> Routes:
    """Return the routes to enabled terminals whose kind this installation has.

    Costs no statement if the merchant came with an API key (`config.caller`).
    """
    if merchant.caller is not None:
        found = merchant.caller[CALLER]
    else:
        [(found,)] = prepared.rows(OF_MERCHANT, {"merchant": merchant.id})
    rows = orjson.loads(found or "[]")
    return Routes(tuple(row for row in rows if row["terminal"]["kind"] in settings.ACQUIRERS))


def overlap(one: Route, other: Route) -> bool:
    """Return whether a payment may fit both: then their priorities decide, and must differ."""
    names = ("currency", "brand", "domestic", "program")
    pairs = ((getattr(one, name), getattr(other, name)) for name in names)
    return (
        one.merchant_id == other.merchant_id  # A merchant's own come first in any case.
        and all(None in pair or pair[0] == pair[1] for pair in pairs)
        and _begins_within(one, other)
        and _begins_within(other, one)
    )


def _begins_within(one: Route, other: Route) -> bool:
    return other.installments_to is None or one.installments_from <= other.installments_to


def _fits(row: Mapping[str, Any], payment: Payment) -> bool:
    count, until = payment.installments, row["installments_to"]
    is_in_range = row["installments_from"] <= count and (until is None or count <= until)
    return is_in_range and _fits_card(row, payment.currency, payment.card)


def _fits_card(row: Mapping[str, Any], currency: str, card: Card) -> bool:
    return (
        _takes_currency(row, currency)
        and _lists(row["terminal"]["brands"], card["brand"])
        and all(row[name] in (None, card[name]) for name in ("brand", "domestic", "program"))
    )


def _takes_currency(row: Mapping[str, Any], currency: str) -> bool:
    return row["currency"] in (None, currency) and _lists(row["terminal"]["currencies"], currency)


def _lists(values: Iterable[str], value: str) -> bool:
    return not values or value in values


def _terminal(row: Mapping[str, Any]) -> Terminal:
    values = dict(row["terminal"])
    values["created_at"] = parse_datetime(values["created_at"])
    if values["sealed"] is not None:
        values["sealed"] = bytes.fromhex(values["sealed"].removeprefix("\\x"))
    names = [field.attname for field in Terminal._meta.concrete_fields]
    return Terminal.from_db("default", names, [values[name] for name in names])
