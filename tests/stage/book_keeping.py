"""Movements of one merchant's money, each in a transaction of its own, as its cause has one."""

from collections import defaultdict
from datetime import date, timedelta
from itertools import count
from typing import Any

from django.db import transaction

from core import clock
from ledger import accounts, balance, book, settlement
from ledger.book import Sale
from ledger.models import LedgerEntry, Movement, Price, Run
from merchants import payout_schedules
from merchants.models import Merchant, NegativeLimit

numbers = count(1)

# A Monday: parts of it are due on Tuesday.
CAPTURED_ON = date(2026, 11, 2)


def price(merchant: Merchant, *, bps: int = 250, fixed: int = 25, **terms: Any) -> Price:
    """Give the merchant a price, by default that of docs/explanation/ledger.md (250 bps + 25)."""
    return Price.objects.create(merchant=merchant, currency="try", bps=bps, fixed=fixed, **terms)


def limit(merchant: Merchant, amount: int) -> None:
    """Let the merchant's `available` go so far below zero."""
    NegativeLimit.objects.create(merchant=merchant, currency="try", amount=amount)


def schedule(merchant: Merchant, **terms: Any) -> None:
    """Change the merchant's schedule."""
    payout_schedules.change(merchant, terms)


class Till:
    """A merchant's money in one currency; causes are ids that nothing else has.

    Payments in installments are settled month by month.
    """

    def __init__(self, merchant: Merchant, currency: str = "try") -> None:
        self.merchant, self.currency = merchant, currency
        self.today = CAPTURED_ON
        schedule(merchant, installments="monthly")
        accounts.ensure(merchant.id, currency)

    def charge(self, amount: int, **terms: Any) -> Movement:
        """Charge card money: `charged` in a transaction of its own."""
        with transaction.atomic():
            return self.charged(amount, **terms)

    def charged(self, amount: int, *, surcharge: int = 0, parts: int = 1) -> Movement:
        """Charge card money, which is due in monthly parts, in the caller's transaction."""
        sale = Sale(amount, self.currency, surcharge, installments=parts)
        return book.charge(
            self.merchant.id, sale, cause_id=cause("att"), captured_on=self.today, now=clock.now()
        )

    def refund(self, charge: Movement, amount: int, *, cause_id: str | None = None) -> Movement:
        with transaction.atomic():
            return self.taken(book.refund, charge, amount, cause_id=cause_id)

    def void(self, charge: Movement) -> Movement:
        with transaction.atomic():
            return self.taken(book.void, charge, charge.card_money)

    def dispute(self, charge: Movement, amount: int) -> Movement:
        with transaction.atomic():
            return self.taken(book.dispute_opened, charge, amount)

    def taken(
        self, taker: Any, charge: Movement, amount: int, *, cause_id: str | None = None
    ) -> Movement:
        """Take a part of a charge back, in the caller's transaction."""
        terms = {"amount": amount, "charge_id": charge.charge_id, "now": clock.now()}
        return taker(self.merchant.id, cause_id=cause_id or cause("back"), **terms)

    def payout(self, amount: int) -> Movement:
        return self._move(book.payout, amount=amount, cause_id=cause("po"))

    def topup(self, amount: int) -> Movement:
        return self._move(book.topup, amount=amount, cause_id=cause("tu"))

    def write_off(self) -> Movement:
        """Write off all that the merchant owes."""
        owed = balance.funds(self.merchant.id, self.currency).owed
        return self._move(book.write_off, amount=owed, cause_id=cause("act"))

    def then(self, movement: Movement, follower: Any) -> Movement:
        """Let another movement of the same cause follow: `till.then(refund, book.refund_paid)`."""
        with transaction.atomic():
            return follower(movement.cause_id, merchant_id=self.merchant.id, now=clock.now())

    def settle(self, *, days: int = 1) -> Run | None:
        """Let days pass, and settle what is due then."""
        self.today += timedelta(days=days)
        return settlement.settle(self.merchant, self.currency, on=self.today)

    def sums(self) -> dict[str, int]:
        """Return the balance of each account that has ever moved, by its kind."""
        return sums(LedgerEntry.objects.filter(merchant=self.merchant, currency=self.currency))

    def _move(self, mover: Any, **terms: Any) -> Movement:
        with transaction.atomic():
            return mover(self.merchant.id, currency=self.currency, now=clock.now(), **terms)


def cause(prefix: str) -> str:
    return f"{prefix}_{next(numbers)}"


def sums(entries: Any) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for entry in entries.select_related("account"):
        found[entry.account.kind] += entry.amount
    return dict(found)


def entries_of(movement: Movement) -> dict[str, list[int]]:
    """Return a movement's entries by the kind of account; pending ones in order of their dates."""
    found: dict[str, list[int]] = defaultdict(list)
    for entry in movement.entries.select_related("account").order_by("available_on", "id"):
        found[entry.account.kind].append(entry.amount)
    return dict(found)
