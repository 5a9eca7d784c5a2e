"""Movements of the balance, in one currency: what for, how much, and the balance after each."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, QueryDict

from core.querysets import MerchantRows
from core.rest import lists
from core.rest.list_query import CURSORS, DEFAULT_SORT
from core.rest.lists import Page
from ledger import day_sums, transactions
from ledger.day_sums import BalancesAfter
from ledger.filters import TRANSACTIONS
from ledger.models import Account, Movement
from merchants.models import Member, Merchant
from panel.merchants import list_pages, listing, movement_sources
from panel.merchants.balance_words import TYPES
from panel.merchants.list_pages import ListPage
from panel.merchants.money_filters import MovementForm
from panel.merchants.pages import page
from panel.patience import TookTooLong, limited

TEMPLATE, PATH = "panel/balance/movements.html", "/v1/balance_transactions"
# In these orders a balance after each movement means something.
OF_TIME = (DEFAULT_SORT, "created")


class Totals(NamedTuple):
    """Sums of all movements that the filters find, in minor units."""

    number: int
    amount: int
    fee: int
    net: int

    @property
    def given_fee(self) -> int:
        """Return the fee as a change of the balance."""
        return -self.fee


@page()
def movements(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the movements of one currency, the merchant's default one if none is chosen."""
    merchant = member.merchant
    currencies = _currencies(merchant)
    chosen = request.GET.get("currency", "")
    currency = chosen if chosen in currencies else merchant.default_currency
    rows = transactions.of_merchant(merchant).filter(currency=currency)
    words = partial(_words, rows=rows, query=request.GET)
    listed = ListPage("movements", MovementForm, TEMPLATE, PATH, words=words)
    return list_pages.answer(
        request, member, listed, rows,
        currencies=currencies, currency=currency, most=lists.TOTAL_MAX,
    )  # fmt: skip


def _currencies(merchant: Merchant) -> list[str]:
    accounts = Account.objects.for_merchant(merchant).filter(kind=Account.Kind.AVAILABLE)
    return sorted({merchant.default_currency, *accounts.values_list("currency", flat=True)})


def _words(member: Member, found: Page, *, rows: MerchantRows, query: QueryDict) -> dict[str, Any]:
    """Give each movement its kind, its cause, and its place in the balance."""
    _name(member, found.rows)
    places = transactions.places(found.rows)
    in_time = query.get("sort", DEFAULT_SORT) in OF_TIME
    after = _balances_after(found.rows) if in_time else None
    for row in found.rows:
        row.place = places[row.id]
        row.given_fee = -row.fee
        if after:
            row.balance = after.amounts[row.id]
            row.is_provisional = row.place.newest_entry > after.reached
    shown = {"has_balances": after is not None, "is_late": in_time and after is None}
    return shown | {"totals": _totals(rows, query)}


def _balances_after(rows: Sequence[Movement]) -> BalancesAfter | None:
    """Return the balance after each movement; None if those between them take long to sum."""
    try:
        with limited(listing.COUNT_MS):
            return day_sums.balances_after(rows)
    except TookTooLong:
        return None


def _name(member: Member, rows: Sequence[Any]) -> None:
    sources = movement_sources.of(member, rows)
    for row in rows:
        row.word = TYPES.get(row.type or "", row.type)
        row.source = sources[row.id]


def _totals(rows: MerchantRows, query: QueryDict) -> Totals | None:
    """Return the sums of what the filters find; None if that is much, or takes long."""
    every = listing.asked(query, TRANSACTIONS)
    for name in CURSORS:
        every.pop(name, None)
    try:
        with limited(listing.COUNT_MS):
            return _summed(lists.found(rows, every, TRANSACTIONS)[: lists.TOTAL_MAX + 1])
    except TookTooLong:
        return None


def _summed(rows: QuerySet[Movement]) -> Totals | None:
    sums = rows.aggregate(number=Count("id"), amount=Sum("amount"), fee=Sum("fee"), net=Sum("net"))
    found = Totals(**{name: int(value or 0) for name, value in sums.items()})
    return found if found.number <= lists.TOTAL_MAX else None
