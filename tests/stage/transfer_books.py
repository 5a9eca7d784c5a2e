"""Payouts, topups and settlement as the contract says they must be, counted beside the ledger.

Held against each other: the API, the entries of the ledger, and the bank's book of transfers
(contract-money: Payout, Topup, Value dates, Bookkeeping).
"""

from collections import Counter
from datetime import date
from itertools import pairwise
from typing import Any

from django.db.models import Q, Sum

from ledger.models import LedgerEntry, Run
from payouts.models import Payout
from payouts.topups.models import IncomingTransfer, Topup
from testbank import models as bank
from tests.stage.client import ApiClient
from tests.stage.money_books import CURRENCY, all_rows

ON_THE_WAY = ("pending", "in_transit")
# By status, the events of a payout: the rest emit nothing (contract-money, Payout).
PAYOUT_EVENTS = {
    "pending": [["created"]],
    "in_transit": [["created"]],
    "canceled": [["created"]],
    "paid": [["created", "paid"]],
    "failed": [["created", "failed"], ["created", "paid", "failed"]],
}
NOTHING = Q(pk__in=[])
NET = {"payout": -1, "payout_failure": 1, "payout_cancel": 1, "topup": 1, "topup_reversal": -1}


def assert_right(shop: ApiClient) -> None:
    """Hold all that tells of payouts, topups and runs against each other."""
    payouts = all_rows(shop, "/v1/payouts?limit=100")
    topups = all_rows(shop, "/v1/topups?limit=100")
    sums = _sums(shop)
    ours = _total(payouts, "paid") - _total(topups, "succeeded")
    assert sums["payouts"] == _total(payouts, *ON_THE_WAY), (sums, payouts)
    assert sums["transfers"] == ours == _at_the_bank(payouts), (sums, payouts, topups)
    for payout in payouts:
        _assert_payout_is_right(shop, payout)
    for topup in topups:
        _assert_topup_is_right(shop, topup)
    _assert_arrivals_are_the_banks()
    assert_nothing_is_overdrawn(shop)
    _assert_runs_are_right(shop)


def _total(rows: list[dict[str, Any]], *statuses: str) -> int:
    return sum(row["amount"] for row in rows if row["status"] in statuses)


def _sums(shop: ApiClient) -> Counter[str]:
    rows = LedgerEntry.objects.filter(merchant=shop.merchant, currency=CURRENCY)
    return Counter(dict(rows.values_list("account__kind").annotate(Sum("amount"))))


def _at_the_bank(payouts: list[dict[str, Any]]) -> int:
    """Return what the bank has transferred out, less what came in for topups."""
    out = _moved(bank.TransferMove.objects.all())
    for_topups = IncomingTransfer.objects.filter(topup__isnull=False)
    names = list(for_topups.values_list("reference", flat=True))
    return out - _moved(bank.IncomingMove.objects.filter(incoming__reference__in=names))


def _moved(rows: Any) -> int:
    return int(rows.aggregate(total=Sum("amount"))["total"] or 0)


def _assert_payout_is_right(shop: ApiClient, payout: dict[str, Any]) -> None:
    events = all_rows(shop, f"/v1/events?aggregate_id={payout['id']}&limit=100")
    names = [event["type"].removeprefix("payout.") for event in events]
    assert names in PAYOUT_EVENTS[payout["status"]], (payout, names)
    if payout["status"] in ("paid", "failed"):
        assert events[-1]["data"]["object"]["status"] == payout["status"]
    assert (payout["failure_code"] is not None) == (payout["status"] == "failed"), payout
    left = {"failed": 0, "canceled": 0}.get(payout["status"], -payout["amount"])
    _assert_transactions_sum_to(shop, payout, left)


def _assert_topup_is_right(shop: ApiClient, topup: dict[str, Any]) -> None:
    events = all_rows(shop, f"/v1/events?aggregate_id={topup['id']}&limit=100")
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    for former, event in pairwise(events):
        told = event["data"]["previous_attributes"]
        assert {**event["data"]["object"], **told} == former["data"]["object"], (former, event)
    if events:
        assert events[-1]["data"]["object"] == topup
    arrived = IncomingTransfer.objects.filter(topup=topup["id"])
    assert arrived.count() == (topup["status"] in ("succeeded", "reversed")), topup
    _assert_transactions_sum_to(shop, topup, topup["amount"] * (topup["status"] == "succeeded"))


def _assert_transactions_sum_to(shop: ApiClient, thing: dict[str, Any], net: int) -> None:
    rows = all_rows(shop, f"/v1/balance_transactions?source={thing['id']}&limit=100")
    assert sum(row["net"] for row in rows) == net, (thing, rows)
    for row in rows:
        assert row["net"] == NET[row["type"]] * thing["amount"], (thing, row)
        assert (row["fee"], row["status"]) == (0, "available"), row


def _assert_arrivals_are_the_banks() -> None:
    """Each transfer that came is kept once; one that no topup waits for is a case."""
    came = bank.IncomingTransfer.objects.filter(state__in=("received", "reversed"))
    theirs = {one.reference: one.state == "reversed" for one in came}
    ours = IncomingTransfer.objects.all()
    assert {one.reference: one.status == "reversed" for one in ours} == theirs
    booked = ("matched", "assigned")
    assert all(one.topup_id for one in ours if one.status in booked)
    assert not any(one.topup_id for one in ours if one.status in ("unmatched", "sent_back"))


def assert_nothing_is_overdrawn(shop: ApiClient) -> None:
    """No payout has left less than nothing behind, in the order in which money moved."""
    left = 0
    lines = LedgerEntry.objects.filter(merchant=shop.merchant, account__kind="available")
    rows = lines.filter(currency=CURRENCY).order_by("id")
    for kind, amount in rows.values_list("movement__kind", "amount"):
        left += amount
        assert kind != "payout" or left >= 0, (kind, amount, left)


def _assert_runs_are_right(shop: ApiClient) -> None:
    """A date has one run; what is pending is of later dates or came later, and listed as that."""
    runs = list(Run.objects.filter(merchant=shop.merchant).order_by("date"))
    assert len({run.date for run in runs}) == len(runs)
    lines = LedgerEntry.objects.filter(merchant=shop.merchant, account__kind="pending")
    parts = lines.exclude(movement__kind="settlement")
    # Money that comes back keeps its dates: what is of the past by then waits for the next run.
    reached = Q(available_on__lte=runs[-1].date, id__lte=runs[-1].boundary) if runs else NOTHING
    settled = lines.filter(reached | Q(movement__kind="settlement"))
    by_date = dict(settled.values_list("available_on").annotate(Sum("amount")))
    assert not any(by_date.values()), (by_date, runs)
    open_ones = parts.exclude(reached).exclude(movement__type=None)
    expected = set(open_ones.values_list("movement_id", flat=True))
    listed = all_rows(shop, "/v1/balance_transactions?limit=100")
    assert {row["id"] for row in listed if row["status"] == "pending"} == expected


def pending(shop: ApiClient) -> int:
    return _sums(shop)["pending"]


def unsettled(merchant_id: str, day: date) -> int:
    """Return what is due on a day or before it and was not settled, in minor units."""
    due = LedgerEntry.objects.filter(
        merchant_id=merchant_id, available_on__lte=day, currency=CURRENCY
    )
    return int(due.aggregate(total=Sum("amount"))["total"] or 0)


def endings() -> list[str]:
    """Return the ways in which payouts and topups have ended."""
    payouts = Payout.objects.all()
    paid_first = payouts.filter(status="failed", id__in=_bounced())
    arrivals = IncomingTransfer.objects.filter(status__in=("unmatched", "assigned", "sent_back"))
    topups = Topup.objects.all()
    return [
        *(f"payout {status}" for status in payouts.values_list("status", flat=True)),
        *("payout returned" for _ in paid_first),
        *("payout by schedule" for _ in payouts.filter(automatic=True)),
        *("a case" for _ in arrivals),
        *(f"topup {status}" for status in topups.values_list("status", flat=True)),
    ]


def _bounced() -> Any:
    bounced = LedgerEntry.objects.filter(movement__kind="payout_bounced")
    return bounced.values("movement__cause_id")
