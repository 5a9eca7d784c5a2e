"""The book of the bank that stands behind a test's payments, whichever of the two banks it is."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from django.db.models import F

from testbank.models import Authorization, Repayment, Reversal
from testbank.states import State
from tests.stage import bank_orders


@dataclass(frozen=True, slots=True)
class BookedOrder:
    """One of our references as the bank has it; amounts in minor units.

    :param state: in the words of `testbank.states.State`.
    :param captured_amount: what was ever taken.
    :param taken: each amount that was taken and not given back.
    :param held: the number of authorisations that hold money for a capture.
    :param given_back: each captured amount that went back to the card, by a void or a refund, and
        stayed there.
    """

    reference: str
    merchant: str
    amount: int
    currency: str
    state: str
    captured_amount: int
    taken: tuple[int, ...]
    held: int
    given_back: tuple[int, ...] = ()


class Book(Protocol):
    """A bank's book as tests read it, and change it behind the service's back."""

    def orders(self, references: Collection[str] | None) -> list[BookedOrder]:
        """Return the bank's orders of these references; all of them for None."""

    def charge(self, number: str, *, reference: str, merchant: str) -> None:
        """Charge a card 125.00 lira for an order that nobody asks for any more."""

    def make_older(self, reference: str, span: timedelta) -> None:
        """Move what the bank has of an order into the past."""


def orders(references: Collection[str] | None = None) -> list[BookedOrder]:
    """Return what the bank has of these references; without any, all that it has of us."""
    return _books[-1].orders(references)


def order() -> BookedOrder:
    """Return the one order that the bank has of us."""
    [one] = orders()
    return one


def charge(number: str, *, reference: str, merchant: str) -> None:
    """Let the bank charge a card 125.00 lira for an order that nobody asks for any more."""
    _books[-1].charge(number, reference=reference, merchant=merchant)


def make_older(reference: str, span: timedelta) -> None:
    """Let an order have begun earlier at the bank."""
    _books[-1].make_older(reference, span)


@contextmanager
def opened(book: Book) -> Iterator[None]:
    """Let this book be the bank's during the block."""
    _books.append(book)
    try:
        yield
    finally:
        _books.remove(book)


class SandboxBook:
    """The book of the simulated bank, as its sandbox's door fills it."""

    def orders(self, references: Collection[str] | None) -> list[BookedOrder]:
        rows = Authorization.objects.order_by("id").prefetch_related("captures")
        wanted = rows if references is None else rows.filter(reference__in=references)
        return [_booked(row) for row in wanted]

    def charge(self, number: str, *, reference: str, merchant: str) -> None:
        bank_orders.authorize(number, reference=reference, merchant=merchant, capture=True)

    def make_older(self, reference: str, span: timedelta) -> None:
        rows = Authorization.objects.filter(reference=reference)
        rows.update(created_at=F("created_at") - span)


def _booked(row: Authorization) -> BookedOrder:
    is_voided = row.state == State.VOIDED
    captures = tuple(capture.amount for capture in row.captures.all())
    return BookedOrder(
        reference=row.reference,
        merchant=row.merchant,
        amount=row.amount,
        currency=row.currency,
        state=row.state,
        captured_amount=row.captured_amount,
        taken=() if is_voided else captures,
        held=int(row.state == State.AUTHORIZED and not captures),
        given_back=tuple(_given_back(row)),
    )


def _given_back(row: Authorization) -> Iterator[int]:
    yield from Reversal.objects.filter(authorization=row).values_list("amount", flat=True)
    paid = Repayment.objects.filter(refund__authorization=row, refund__bounce=None)
    yield from paid.order_by("id").values_list("amount", flat=True)


_books: list[Book] = [SandboxBook()]
