"""A merchant's money as the contract says it must be, counted anew beside the ledger's own code.

Three sources are held against each other: the API (payments, refunds, disputes, balance, events),
the entries of the ledger, and the bank's book. Nothing is taken from the code that is tested but
its rows (contract-money: Shares, Bookkeeping).
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

from django.db.models import Sum

from ledger.models import LedgerEntry, Movement, Run
from merchants.models import NegativeLimit
from payments.intents.models import Attempt
from testbank import models as bank
from tests.stage.client import ApiClient
from tests.stage.money_world import Terms
from tests.stage.walks import assert_tells_its_change

TAKES = ("refund", "void", "dispute_opened")
GIVES = ("void_undone", "refund_returned", "refund_bounced", "dispute_won", "dispute_regained")
COUNTED = ("pending", "succeeded")
DISPUTED = ("needs_response", "under_review", "lost")
OPEN = ("needs_response", "under_review")
# A payment's figures of money that goes back: they change without an event of its own.
WITHOUT_EVENTS = ("refunded_minor", "amount_refundable")
CURRENCY = "try"

Prices = list[tuple[datetime, Terms]]


class Shown:
    """All objects of a merchant as the API shows them."""

    def __init__(self, shop: ApiClient) -> None:
        self.shop = shop
        self.payments = all_rows(shop, "/v1/payment_intents?limit=100")
        self.refunds = all_rows(shop, "/v1/refunds?limit=100")
        self.disputes = all_rows(shop, "/v1/disputes?limit=100")
        self.transactions = all_rows(shop, "/v1/balance_transactions?limit=100")
        self.balance = {
            kind: next(row["amount"] for row in rows if row["currency"] == CURRENCY)
            for kind, rows in shop.get("/v1/balance").body.items()
            if kind in ("available", "pending", "reserved")
        }


def all_rows(shop: ApiClient, path: str) -> list[dict[str, Any]]:
    """Return all rows of a list, oldest first."""
    page = shop.get(path)
    rows = page["data"]
    while page["has_more"]:
        page = shop.get(f"{path}&starting_after={rows[-1]['id']}")
        rows += page["data"]
    return rows[::-1]


def assert_right(shop: ApiClient, prices: Prices) -> Shown:
    """Hold all that tells of the merchant's money against each other.

    :param prices: of the merchant's charges, each with the moment from which on it counted.
    """
    shown = Shown(shop)
    for payment in shown.payments:
        _assert_payment_is_right(payment, shown)
    for told in (shown.payments, shown.refunds, shown.disputes):
        for thing in told:
            _assert_events_tell_it(thing, shop)
    _assert_ledger_is_right(shown, prices)
    return shown


def _assert_payment_is_right(payment: dict[str, Any], shown: Shown) -> None:
    of_it = {"refunds": shown.refunds, "disputes": shown.disputes}
    refunds, disputes = (
        [one for one in rows if one["payment_intent"] == payment["id"]] for rows in of_it.values()
    )
    if payment["status"] != "succeeded":
        assert not refunds + disputes, payment
        return
    refunded = sum(one["amount"] for one in refunds if one["status"] in COUNTED)
    disputed = sum(one["amount"] for one in disputes if one["status"] in DISPUTED)
    assert payment["refunded_minor"] == refunded <= payment["captured_minor"], payment
    left = max(0, payment["captured_minor"] - refunded - disputed)
    assert payment["amount_refundable"] == left, (payment, disputed)
    for dispute in disputes:
        assert dispute["is_payment_refundable"] == (left > 0), dispute


# --- Events -----------------------------------------------------------------------------------


def _assert_events_tell_it(thing: dict[str, Any], shop: ApiClient) -> None:
    """Follow the events of an object: no gap, each tells all that changed, the last is now."""
    kept = {"payment_intent": WITHOUT_EVENTS, "dispute": ("is_payment_refundable",)}
    unsaid = (*kept.get(thing["object"], ()), "description", "metadata")
    if thing["object"] == "refund":
        unsaid = ()
    events = all_rows(shop, f"/v1/events?aggregate_id={thing['id']}&limit=100")
    events.sort(key=lambda event: event["sequence"])
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1)), events
    assert events[0]["data"]["previous_attributes"] == {}
    for former, event in pairwise(events):
        now = _without(event["data"]["object"], unsaid)
        told = _without(event["data"]["previous_attributes"], unsaid)
        was = _without(former["data"]["object"], unsaid)
        assert_tells_its_change(was, {"object": now, "previous_attributes": told})
    assert _without(events[-1]["data"]["object"], unsaid) == _without(thing, unsaid)


def _without(thing: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if name not in names}


# --- The ledger -------------------------------------------------------------------------------


@dataclass
class Charge:
    """A charge as the contract counts it; `taken`: what each cause took of it, still gone.

    `refunded`: the causes among them that are refunds or voids; by these alone the fee comes back.
    `is_overdrawn`: more was gone at once than the card was debited with.
    """

    captured: int
    surcharge: int
    fee: int
    returns_fee: bool
    taken: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    refunded: set[str] = field(default_factory=set)
    surcharge_given: int = 0
    is_overdrawn: bool = False

    def take(self, cause: str, amount: int, *, kind: str) -> tuple[int, int, int]:
        """Return amount, and the shares of surcharge and fee in it (contract-money, Shares)."""
        before = [sum(column) for column in zip((0, 0, 0), *self.taken.values(), strict=True)]
        refunded = sum(one[0] for key, one in self.taken.items() if key in self.refunded)
        shares = [
            min(amount, max(0, whole * min(self.captured, back + amount) // self.captured - given))
            for whole, back, given in (
                (self.surcharge, before[0], self.surcharge_given),
                (self.fee, refunded, before[2]),
            )
        ]
        if kind != "dispute_opened":
            self.refunded.add(cause)
        brings_fee = kind == "void" or (kind == "refund" and self.returns_fee)
        self.taken[cause] = (amount, shares[0], shares[1] if brings_fee else 0)
        self.surcharge_given += shares[0]
        self.is_overdrawn |= before[0] + amount > self.captured
        return self.taken[cause]

    def give(self, cause: str, surcharge: int) -> None:
        """Take a cause back: what stays gone has its share, whatever came first, but rounded."""
        took = self.taken.pop(cause)[1]
        assert self.is_overdrawn or surcharge == took, (self, cause, surcharge)
        self.surcharge_given -= surcharge
        gone = min(self.captured, sum(amount for amount, *_shares in self.taken.values()))
        off = abs(self.surcharge_given - Fraction(self.surcharge * gone, self.captured))
        assert not self.is_overdrawn or off <= len(self.taken) * (gone < self.captured), self


def _assert_ledger_is_right(shown: Shown, prices: Prices) -> None:
    merchant = shown.shop.merchant
    movements = _movements(merchant.id)
    _assert_shares_are_right(movements, shown, prices)
    _assert_limit_is_kept(movements, merchant.id)
    sums = _sums(merchant.id)
    assert sum(sums.values()) == 0, sums
    assert {kind: sums[kind] for kind in shown.balance} == shown.balance
    net = sum(movement.net for movement, _lines in movements)
    assert net == sums["pending"] + sums["available"], sums
    _assert_transactions_are_right(movements, shown)
    at_the_bank = _at_the_bank(merchant.id)
    on_their_way = _on_their_way(shown)
    assert sums["refunds"] == on_their_way, (sums, on_their_way)
    assert -sums["acquirer"] == at_the_bank, (sums, at_the_bank)
    _assert_no_date_is_overdrawn(merchant.id)


def _movements(merchant_id: str) -> list[tuple[Movement, Counter[str]]]:
    """Return the movements in the order in which they were written, each with its lines."""
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    entries = LedgerEntry.objects.filter(merchant_id=merchant_id).order_by("id")
    for entry in entries.select_related("movement", "account"):
        lines[entry.movement_id][entry.account.kind] += entry.amount
    found = Movement.objects.in_bulk(list(lines))
    return [(found[key], its) for key, its in lines.items()]


def _assert_transactions_are_right(movements: list[Any], shown: Shown) -> None:
    """The list has each change of what the merchant has, once, and all of them are what it has."""
    rows, held = shown.transactions, shown.balance
    assert sum(row["net"] for row in rows) == held["pending"] + held["available"], (rows, held)
    assert all(row["net"] == row["amount"] - row["fee"] for row in rows), rows
    changes = {m.id: lines["pending"] + lines["available"] for m, lines in movements}
    assert {row["id"]: row["net"] for row in rows} == {
        key: change for key, change in changes.items() if change
    }
    assert len({row["id"] for row in rows}) == len(rows)


def _assert_shares_are_right(movements: list[Any], shown: Shown, prices: Prices) -> None:
    """Count the shares of surcharge and fee of each movement anew."""
    amounts = {one["id"]: one["amount"] for one in (*shown.refunds, *shown.disputes)}
    charges: dict[str, Charge] = {}
    taken: dict[str, tuple[int, int, int]] = {}
    for movement, lines in movements:
        key, cause, kind = movement.charge_id, movement.cause_id, movement.kind
        if kind == "charge":
            charges[key] = _charge(movement, lines, prices)
        elif kind in TAKES:
            taken[cause] = charges[key].take(cause, amounts[cause], kind=kind)
            _assert_took(movement, lines, taken[cause])
        elif kind in GIVES:
            surcharge = taken[cause][0] - lines["pending"] - lines["available"] - taken[cause][2]
            charges[key].give(cause, surcharge)
            assert lines["fees"] == taken[cause][2], (movement, lines, taken[cause])


def _charge(movement: Movement, lines: Counter[str], prices: Prices) -> Charge:
    attempt = Attempt.objects.select_related("intent").get(id=movement.charge_id)
    intent = attempt.intent
    received = intent.captured_minor - intent.captured_surcharge
    price = [price for since, price in prices if since <= movement.created_at][-1]
    part = int(Fraction(received * price.bps, 10_000) + Fraction(1, 2))  # Half up.
    fee = min(received, part + price.fixed)
    assert -lines["acquirer"] == intent.captured_minor
    assert (lines["surcharge"], lines["fees"]) == (intent.captured_surcharge, fee)
    assert attempt.fee == fee
    return Charge(intent.captured_minor, intent.captured_surcharge, fee, price.returns_fee)


def _assert_took(movement: Movement, lines: Counter[str], share: tuple[int, int, int]) -> None:
    amount, surcharge, fee = share
    merchants = lines["pending"] + lines["available"]
    assert -merchants == amount - surcharge - fee, (movement, lines, share)
    assert -lines["fees"] == fee, (movement, lines, share)
    if movement.kind == "dispute_opened":
        assert lines["reserved"] == amount - surcharge, (movement, lines, share)
    else:
        assert (lines["refunds"], -lines["surcharge"]) == (amount, surcharge), (movement, lines)


def _assert_limit_is_kept(movements: list[Any], merchant_id: str) -> None:
    """A refund that took money left `available` and `pending` at the limit, or above it."""
    limit = NegativeLimit.objects.get(merchant_id=merchant_id).amount
    left = 0
    for movement, lines in movements:
        left += lines["pending"] + lines["available"]
        if movement.kind == "refund":
            assert left >= -limit, (movement, left)


def _sums(merchant_id: str) -> Counter[str]:
    rows = LedgerEntry.objects.filter(merchant_id=merchant_id).values_list("account__kind")
    return Counter(dict(rows.annotate(Sum("amount"))))


def _on_their_way(shown: Shown) -> int:
    pending = [one for one in shown.refunds if one["status"] == "pending"]
    return sum(one["amount"] for one in pending if one["pending_reason"] != "insufficient_funds")


def _at_the_bank(merchant_id: str) -> int:
    """Return what the bank has taken for the merchant and not given back, in minor units."""
    orders = bank.Authorization.objects.filter(merchant=merchant_id)
    plus = {bank.Capture: "", bank.Bounce: "refund__", bank.Recovery: "dispute__"}
    minus = {bank.Reversal: "", bank.Repayment: "refund__", bank.Chargeback: "dispute__"}
    return _sum(plus, orders) - _sum(minus, orders)


def _sum(models: dict[Any, str], orders: Any) -> int:
    return sum(
        sum(
            model.objects.filter(**{f"{way}authorization__in": orders}).values_list(
                "amount", flat=True
            )
        )
        for model, way in models.items()
    )


def _assert_no_date_is_overdrawn(merchant_id: str) -> None:
    """Nothing takes more from a date's parts than they have, nor settles it."""
    pending = LedgerEntry.objects.filter(merchant_id=merchant_id, account__kind="pending")
    by_date = pending.values_list("available_on").annotate(total=Sum("amount"))
    assert all(total >= 0 for _day, total in by_date), (list(by_date), list(Run.objects.all()))
