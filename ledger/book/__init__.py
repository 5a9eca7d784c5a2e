"""The book: one function for each way in which money moves, above the one writer (I6).

Each is called in the transaction of its cause and raises RuntimeError outside of one. A cause moves
money once per kind of movement: a second time is refused by the database. All amounts are in minor
units of card money, surcharge included, unless said otherwise. Source: contract-money, Bookkeeping.
"""

from ledger.balance import InsufficientFunds
from ledger.book.charges import charge
from ledger.book.disputes import dispute_lost, dispute_opened, dispute_regained, dispute_won
from ledger.book.journal import OutOfTurn
from ledger.book.payouts import (
    payout,
    payout_bounced,
    payout_canceled,
    payout_paid,
    payout_returned,
)
from ledger.book.refunds import (
    refund,
    refund_bounced,
    refund_paid,
    refund_returned,
    refund_that_left,
    void,
    void_undone,
)
from ledger.book.settlements import settlement
from ledger.book.topups import topup, topup_reversed
from ledger.book.write_offs import NotOwed, write_off
from ledger.pricing import Sale

__all__ = [
    "InsufficientFunds",
    "NotOwed",
    "OutOfTurn",
    "Sale",
    "charge",
    "dispute_lost",
    "dispute_opened",
    "dispute_regained",
    "dispute_won",
    "payout",
    "payout_bounced",
    "payout_canceled",
    "payout_paid",
    "payout_returned",
    "refund",
    "refund_that_left",
    "refund_bounced",
    "refund_paid",
    "refund_returned",
    "settlement",
    "topup",
    "topup_reversed",
    "void",
    "void_undone",
    "write_off",
]
