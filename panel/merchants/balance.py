"""The balance: what there is, what comes when, what goes to the account, and each settlement."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse, QueryDict

from core.rest.lists import Page
from ledger import balance as balances
from ledger import parts
from ledger.balance import Funds
from ledger.models import Run
from merchants import payout_schedules
from merchants.models import Member, Merchant
from panel import permissions
from panel.merchants import balance_lines, balance_words, calls, listing
from panel.merchants.balance_lines import BalanceLine
from panel.merchants.balance_words import TYPES
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited
from panel.permissions import Right
from payouts.models import Payout
from payouts.resource import PAYOUTS

# More are reached by the lists.
PAYOUTS_SHOWN = "8"
RUNS_SHOWN = 8
# The list of payouts that the page begins: those to come and those that have arrived.
BY_ARRIVAL = "status[]=pending&status[]=in_transit&status[]=paid&sort=-arrival_date"


class Pot(NamedTuple):
    """A merchant's money in one currency, in minor units.

    :param coming: by date, how much of `pending` becomes available.
    :param debt: what it means that `available` is below zero; nothing if it is not.
    :param line: of its last 30 days; None if they changed nothing, or take long to work out.
    """

    currency: str
    available: int
    pending: int
    reserved: int
    coming: list[tuple[date, int]]
    debt: str
    line: BalanceLine | None


class Moved(NamedTuple):
    """The part of a settlement that balance transactions of one type made."""

    word: Any
    transactions: int
    amount: int


@page()
def balance(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the balance, the schedule, payouts by their day of arrival, and settlements."""
    merchant = member.merchant
    body = balances.shown(merchant)
    runs = parts.latest_runs(merchant.id, RUNS_SHOWN)
    shown = {
        "pots": _pots(merchant, body, runs),
        "schedule": balance_words.schedule(
            payout_schedules.of(merchant), merchant.default_currency
        ),
        "payouts": _payouts(merchant),
        "by_arrival": BY_ARRIVAL,
        "runs": runs,
        "may_pay_out": permissions.may(member, Right.PAY_OUT),
        "json": body,
        "call": calls.curl("GET", "/v1/balance"),
    }
    return show(request, "panel/balance/balance.html", shown)


@page()
def settlement(request: HttpRequest, member: Member, settlement: str) -> HttpResponse:
    """Show one settlement: what it made available, by the type of balance transaction."""
    run: Run = listing.find(Run.objects.for_merchant(member.merchant), settlement)
    may_export = permissions.may(member, Right.EXPORT)
    shown = {"run": run, "moved": _moved(run), "may_export": may_export}
    return show(request, "panel/balance/settlement.html", shown)


def _pots(merchant: Merchant, body: Mapping[str, Any], runs: list[Run]) -> list[Pot]:
    """Return the balance that the API shows, by currency, with the dates of what is pending."""
    currencies = [row["currency"] for row in body["available"]]
    # The last one of each currency, for they come newest first.
    last = {run.currency: run for run in reversed(runs)}
    dates = parts.by_date(merchant.id, currencies, last)
    sums = [*zip(*(body[kind] for kind in (*balances.SHOWN, "negative_limit")), strict=True)]
    now = {one["currency"]: one["amount"] + more["amount"] for one, more, *_rest in sums}
    lines = balance_lines.of(merchant, now)
    pots = (_pot(dates, *(row["amount"] for row in rows), currency=rows[0]["currency"])
            for rows in sums)  # fmt: skip
    return [pot._replace(line=lines.get(pot.currency)) for pot in pots]


def _pot(dates: Mapping[str, Mapping[date, int]], *amounts: int, currency: str) -> Pot:
    available, pending, reserved, limit = amounts
    debt = balance_words.in_debt(Funds(available, pending, limit), currency)
    coming = [*dates.get(currency, {}).items()]
    return Pot(currency, available, pending, reserved, coming, debt, line=None)


def _payouts(merchant: Merchant) -> Page:
    rows = Payout.objects.for_merchant(merchant)
    return listing.page(rows, QueryDict(BY_ARRIVAL), PAYOUTS, preset={"limit": PAYOUTS_SHOWN})


def _moved(run: Run) -> list[Moved] | None:
    rows = parts.settled_by(run).values_list("movement__type")
    try:
        with limited():
            sums = list(rows.annotate(Count("movement", distinct=True), Sum("amount")))
    except TookTooLong:
        return None
    found = [Moved(TYPES.get(kind, kind), count, int(amount)) for kind, count, amount in sums]
    return sorted(found, key=lambda one: -one.amount)
