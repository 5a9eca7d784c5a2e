"""The old bank's lines, summed up by order as every test reads them."""

from collections.abc import Collection
from datetime import timedelta
from itertools import groupby

from tests.stage.bank_books import BookedOrder
from tests.stage.oldbank.process import Line, OldBank
from tests.stage.oldbank.terminals import FIRST

ENDS = {"V": "voided", "L": "lapsed"}
STATES = {"A": "authorized", "D": "declined", "W": "pending"}


class OldBook:
    """The old bank's book, in the words of `tests.stage.bank_books`."""

    def __init__(self, bank: OldBank) -> None:
        self._bank = bank

    def orders(self, references: Collection[str] | None) -> list[BookedOrder]:
        """Return these orders, all of them for None, in the order of their references."""
        if references is not None and not references:
            return []
        lines = sorted(self._bank.book(*references or ()), key=lambda line: line.order_id)
        return [_summed(list(own)) for _id, own in groupby(lines, lambda line: line.order_id)]

    def charge(self, number: str, *, reference: str, merchant: str) -> None:
        """Charge a card 125.00 lira at the first terminal, for nobody who asks for it."""
        self._bank.charge(number, terminal=FIRST.terminal, order_id=reference, merchant=merchant)

    def make_older(self, reference: str, span: timedelta) -> None:
        """Move an order's lines into the past."""
        self._bank.make_older(reference, span.total_seconds())


def _summed(lines: list[Line]) -> BookedOrder:
    approved = [line for line in lines if line.state == "A"]
    ended = [ENDS[line.kind] for line in approved if line.kind in ENDS]
    payments = [line for line in lines if line.kind in "SP"]
    taken = tuple(line.amount for line in approved if line.kind in "SC")
    # A void of what was captured gives it back; one of what was held releases it.
    back = "VR" if taken else ""
    held = sum(line.kind == "P" for line in approved)
    return BookedOrder(
        reference=lines[0].order_id,
        merchant=lines[0].merchant,
        amount=payments[-1].amount,
        currency=payments[-1].currency,
        state=ended[-1] if ended else STATES[_decisive(payments).state],
        captured_amount=sum(taken),
        taken=() if ended else taken,
        # A capture, whole or in part, ends what its pre-authorisation holds.
        given_back=tuple(line.amount for line in approved if line.kind in back),
        held=0 if ended else max(0, held - len([one for one in approved if one.kind == "C"])),
    )


def _decisive(payments: list[Line]) -> Line:
    approved = [line for line in payments if line.state == "A"]
    return (approved or payments)[-1]
