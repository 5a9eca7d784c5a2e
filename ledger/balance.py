"""A merchant's balance: the sums of its ledger entries, in minor units per currency."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings

from core import clock, prepared, rows
from events import outbox
from ledger import sums
from ledger.lines import BALANCE, Line, total
from ledger.models import Account, Movement
from ledger.sums import Sums
from merchants.models import Merchant

OF_MERCHANT = "id = %(id)s::text"
LIMITS = """
SELECT currency, amount FROM merchants_negativelimit WHERE merchant_id = %(merchant)s::text
"""
SHOWN = ("available", "pending", "reserved")


class InsufficientFunds(Exception):
    """The merchant's money does not suffice for what is to be taken from it."""


class Funds(NamedTuple):
    """A merchant's money in one currency, in minor units, and how far it may go below zero."""

    available: int
    pending: int
    negative_limit: int

    @property
    def owed(self) -> int:
        """Return how far `available` is below zero; 0 if it is not."""
        return max(0, -self.available)

    def allow(self, taken: int) -> bool:
        """Return whether a refund may take so much (contract-money, Refund)."""
        return self.available + self.pending - taken >= -self.negative_limit

    def would_cross_limit(self, taken: int) -> bool:
        """Return whether so much less takes `available` below a limit that it kept before."""
        return self.available >= -self.negative_limit > self.available - taken


def funds(merchant_id: str, currency: str) -> Funds:
    """Return a merchant's money; it may change until the account is locked."""
    held = sums.of_merchant(merchant_id, BALANCE, currency=currency)
    return Funds(
        available=held.get((currency, Account.Kind.AVAILABLE), 0),
        pending=held.get((currency, Account.Kind.PENDING), 0),
        negative_limit=_limits(merchant_id).get(currency, 0),
    )


def id_of(merchant_id: str) -> str:
    """Return the id by which the API shows a merchant's balance."""
    return f"bal_{merchant_id.removeprefix('mer_')}"


def shown(merchant: Merchant) -> dict[str, Any]:
    """Return the balance as the API shows it (contract 2).

    Every list has the same currencies: the merchant's default one, and those of its accounts and
    limits. Amounts are in minor units.
    """
    held, limits = sums.of_merchant(merchant.id, SHOWN), _limits(merchant.id)
    currencies = sorted(
        {currency for currency, _kind in held} | limits.keys() | {merchant.default_currency}
    )
    return {
        "id": id_of(merchant.id),
        "object": "balance",
        **{kind: _rows(held, currencies, kind) for kind in SHOWN},
        "negative_limit": [_row(limits.get(currency, 0), currency) for currency in currencies],
        "created": clock.unix(merchant.created_at),
        "livemode": settings.LIVEMODE,
    }


def tell(event_type: str, movement: Movement, lines: Sequence[Line]) -> None:
    """Record an event of the merchant's balance, in the transaction of the movement behind it.

    `previous_attributes` shows the movement's own change: charges may have come at the same time.
    """
    merchant = rows.find(Merchant, OF_MERCHANT, id=movement.merchant_id)
    assert merchant is not None  # noqa: S101  # The movement's row refers to it.
    after = shown(merchant)
    before = after | {kind: _without(after[kind], kind, movement, lines) for kind in SHOWN}
    outbox.record(merchant, event_type, after, before)


def _without(
    after: list[dict[str, Any]], kind: str, movement: Movement, lines: Sequence[Line]
) -> list[dict[str, Any]]:
    moved = {movement.currency: total(lines, kind)}
    return [_row(row["amount"] - moved.get(row["currency"], 0), row["currency"]) for row in after]


def _limits(merchant_id: str) -> dict[str, int]:
    return dict(prepared.rows(LIMITS, {"merchant": merchant_id}))


def _rows(held: Sums, currencies: list[str], kind: str) -> list[dict[str, Any]]:
    return [_row(held.get((currency, kind), 0), currency) for currency in currencies]


def _row(amount: int, currency: str) -> dict[str, Any]:
    return {"amount": amount, "currency": currency}
