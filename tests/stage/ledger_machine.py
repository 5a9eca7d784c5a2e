"""The ledger as a state machine: in whatever order money moves, the books say where it is.

The machine keeps its own, simple account of what it did: how much each card was debited with, what
went back and for how long. The ledger must agree with it after every step.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import Sum
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ledger import book, parts
from ledger.models import Movement
from tests.stage.book_keeping import Till, limit, price
from tests.stage.factories import MerchantFactory

# Movements that may follow a movement, and what of it is still out then.
AFTER: dict[str, dict[str, str]] = {
    "refund": {"refund_paid": "refund_paid", "refund_returned": ""},
    "refund_paid": {"refund_bounced": ""},
    "void": {"refund_paid": "gone", "refund_returned": "", "void_undone": ""},
    "dispute_opened": {"dispute_won": "dispute_won", "dispute_lost": "dispute_lost"},
    "dispute_won": {"dispute_lost": "dispute_lost"},
    "dispute_lost": {"dispute_regained": ""},
    "payout": {"payout_paid": "payout_paid", "payout_returned": ""},
    "payout_paid": {"payout_bounced": ""},
    "topup": {"topup_reversed": ""},
}
KINDS = {
    "charge", "settlement", "refund", "void", "dispute_opened", "payout", "topup", "write_off",
    *(follower for followers in AFTER.values() for follower in followers),
}  # fmt: skip
WAYS = ("charge", "refund", "refund", "void", "void", "dispute", "topup", "payout", "write_off")
which = st.integers(min_value=0, max_value=30)
amounts = st.one_of(st.integers(1, 12), st.integers(1, 20_000))


@dataclass
class Cause:
    """A cause whose money moved; `state` says where it is now, empty if it is back."""

    movement: Movement
    amount: int
    state: str

    @property
    def is_out(self) -> bool:
        return self.state not in ("", "dispute_won")


@dataclass
class Sold:
    """A charge, and the causes that took of it."""

    movement: Movement
    causes: list[Cause] = field(default_factory=list)
    # The most card money that refunds and voids ever had out at once.
    most_refunded: int = 0

    def out(self, *kinds: str) -> int:
        """Return the card money that went back, by all causes or by those of these kinds."""
        rows = [one for one in self.causes if one.is_out]
        return sum(one.amount for one in rows if not kinds or one.movement.kind in kinds)


class Money(RuleBasedStateMachine):
    """One merchant with one currency; each example is undone at its end."""

    fired: Counter[str] = Counter()
    returns_fee = False

    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        # As the test's own transaction: what opens one of its own may do so in it.
        self.example._from_testcase = True
        self.example.__enter__()
        merchant = MerchantFactory()
        price(merchant, returns_fee=self.returns_fee)
        limit(merchant, 1_000)
        self.till = Till(merchant)
        self.sold: list[Sold] = []
        self.others: list[Cause] = []  # Payouts and topups.
        self.written_off = 0

    def teardown(self) -> None:
        try:
            connection.check_constraints()
        finally:
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    # --- What happens ---------------------------------------------------------------------------

    # Few rules with many ways each: an example leaves some rules out altogether.
    @initialize(amount=amounts)
    def begin(self, amount: int) -> None:
        self.charge(amount, 0, 3)
        self.topup(amount, 0, 1)

    @rule(way=st.sampled_from(WAYS), amount=amounts, number=which, share=st.integers(1, 4))
    def move(self, way: str, amount: int, number: int, share: int) -> None:
        """Let a cause of its own move money, if it can.

        :param share: a charge's parts, and the divisor of what goes back or out.
        """
        getattr(self, way)(amount, number, share)

    @rule(number=which, how=which)
    def follow(self, number: int, how: int) -> None:
        """Let a refund, a dispute, a payout or a topup go on, in one of the ways that some can.

        The way is chosen first: a rare cause's ways are met as often as a common one's.
        """
        ways = sorted({way for cause in self.causes for way in AFTER.get(cause.state, ())})
        if ways:
            way = ways[how % len(ways)]
            able = [cause for cause in self.causes if way in AFTER.get(cause.state, ())]
            self.go_on(able[-1 - number % len(able)], way)

    @rule(days=st.sampled_from((0, 1, 1, 2, 40)))
    def settle(self, days: int) -> None:
        if self.till.settle(days=days):
            self.note("settlement")

    # --- Ways -----------------------------------------------------------------------------------

    def charge(self, amount: int, number: int, share: int) -> None:
        surcharge = amount * number // 100
        charge = self.till.charge(amount + surcharge, surcharge=surcharge, parts=share)
        self.sold.append(Sold(charge))
        self.note("charge")

    def refund(self, _amount: int, number: int, share: int) -> None:
        """Refund a part of what can be, or all of it."""
        if sold := self.chosen(number):
            left = sold.movement.card_money - sold.out()
            self.take_back(sold, book.InsufficientFunds, self.till.refund, -(-left // share))

    def void(self, _amount: int, number: int, _share: int) -> None:
        if (sold := self.chosen(number)) and not sold.out():
            self.sell_back(sold, self.till.void(sold.movement), sold.movement.card_money)

    def dispute(self, _amount: int, number: int, share: int) -> None:
        """Dispute a part, refunded or not."""
        if sold := self.chosen(number):
            left = sold.movement.card_money - sold.out("dispute_opened")
            self.take_back(sold, (), self.till.dispute, -(-left // share))

    def topup(self, amount: int, _number: int, _share: int) -> None:
        self.other(self.till.topup(amount), amount)

    def payout(self, _amount: int, _number: int, share: int) -> None:
        available = self.till.sums().get("available", 0)
        if available > 0:
            amount = -(-available // share)
            self.other(self.till.payout(amount), amount)

    def write_off(self, _amount: int, _number: int, _share: int) -> None:
        if self.till.sums().get("available", 0) < 0:
            self.written_off += self.till.write_off().net
            self.note("write_off")

    # --- Steps ----------------------------------------------------------------------------------

    def chosen(self, number: int) -> Sold | None:
        """Return a charge, the newest one most often."""
        newest_first = self.sold[::-1]
        return newest_first[number % len(self.sold) // 2] if self.sold else None

    def take_back(
        self, sold: Sold, refusal: Any, taker: Callable[[Movement, int], Movement], amount: int
    ) -> None:
        if amount <= 0:
            return
        try:
            self.sell_back(sold, taker(sold.movement, amount), amount)
        except refusal:
            self.note("insufficient funds")

    def sell_back(self, sold: Sold, movement: Movement, amount: int) -> None:
        sold.causes.append(Cause(movement, amount, movement.kind))
        sold.most_refunded = max(sold.most_refunded, sold.out("refund", "void"))
        self.note(str(movement.kind))

    def other(self, movement: Movement, amount: int) -> None:
        self.others.append(Cause(movement, amount, movement.kind))
        self.note(str(movement.kind))

    def go_on(self, cause: Cause, how: str) -> None:
        self.till.then(cause.movement, getattr(book, how))
        cause.state = AFTER[cause.state][how]
        self.note(how)

    # --- What must hold -------------------------------------------------------------------------

    @invariant()
    def movements_tell_what_the_merchant_has(self) -> None:
        sums = self.till.sums()
        assert sum(sums.values()) == 0
        assert self.movements("net") == sums.get("pending", 0) + sums.get("available", 0)

    @invariant()
    def accounts_have_what_is_under_way(self) -> None:
        sums, out = self.till.sums(), self.out
        expected = {
            "acquirer": out("refund_paid", "gone", "dispute_lost") - self.debited,
            "refunds": out("refund", "void"),
            "payouts": out("payout"),
            "transfers": out("payout_paid") - out("topup"),
            "reserved": self.held_back,
            "losses": -self.written_off,
        }
        assert {kind: sums.get(kind, 0) for kind in expected} == expected

    @invariant()
    def shares_sum_to_their_totals(self) -> None:
        movements = list(Movement.objects.filter(merchant=self.till.merchant))
        for sold in self.sold:
            charge = sold.movement
            rows = [one for one in movements if one.charge_id == charge.charge_id]
            left = sum(one.surcharge for one in rows), sum(one.fee for one in rows)
            self.has_its_shares(sold, *left)

    def has_its_shares(self, sold: Sold, surcharge: int, fee: int) -> None:
        """Compare the shares that are left of a charge with the card money that went back."""
        charge, out = sold.movement, sold.out()
        assert 0 <= surcharge <= charge.surcharge
        assert 0 <= fee <= charge.fee
        # No dispute brings any of it back, neither at once nor by the refund that follows.
        assert charge.fee - fee <= charge.fee * sold.most_refunded // charge.card_money
        if out == 0:
            assert (surcharge, fee) == (charge.surcharge, charge.fee)
        # A bank may dispute what was refunded, and the refund may fail then: in any order.
        share = charge.surcharge * min(out, charge.card_money) // charge.card_money
        assert abs(charge.surcharge - surcharge - share) <= len(sold.causes)
        if out >= charge.card_money:
            assert surcharge == 0
        if sold.out("void") or (charge.returns_fee and sold.out("refund") == charge.card_money):
            assert fee == 0

    @invariant()
    def no_part_is_below_zero(self) -> None:
        by_part: dict[Any, int] = defaultdict(int)
        run = parts.last_run(self.till.merchant.id, "try")
        for entry in parts.open_entries(self.till.merchant.id, run).select_related("movement"):
            if entry.movement.kind != Movement.Kind.SETTLEMENT:
                by_part[entry.movement.charge_id, entry.available_on] += entry.amount
        assert min(by_part.values(), default=0) >= 0
        # Pending money is in parts that no run has reached: a run leaves nothing behind.
        assert sum(by_part.values()) == self.till.sums().get("pending", 0)

    # --- Sums -----------------------------------------------------------------------------------

    @property
    def debited(self) -> int:
        return sum(sold.movement.card_money for sold in self.sold)

    @property
    def held_back(self) -> int:
        disputes = [one for one in self.causes if one.state == "dispute_opened"]
        return -sum(one.movement.net for one in disputes)

    @property
    def causes(self) -> list[Cause]:
        return [*self.others, *(cause for sold in self.sold for cause in sold.causes)]

    def out(self, *states: str) -> int:
        return sum(cause.amount for cause in self.causes if cause.state in states)

    def movements(self, column: str) -> int:
        rows = Movement.objects.filter(merchant=self.till.merchant)
        return rows.aggregate(total=Sum(column))["total"] or 0

    def note(self, kind: str) -> None:
        type(self).fired[kind] += 1


class MoneyWithFeesBack(Money):
    """The same, of a merchant whose price returns its fee with refunds."""

    returns_fee = True
