"""The fee of a charge, by the merchant's prices of that moment (contract-money: fees)."""

from typing import NamedTuple

BASE = 10_000  # Basis points in the whole.


class Sale(NamedTuple):
    """Money that a card was debited with.

    :param amount: minor units, surcharge included.
    :param surcharge: the part that the cardholder pays for the installments; it is not the
        merchant's money.
    :param card_type: `credit`, `debit` or `prepaid`.
    :param source_id: the payment, which the balance transaction names; the cause without one.
    """

    amount: int
    currency: str
    surcharge: int = 0
    card_type: str = "credit"
    installments: int = 1
    source_id: str = ""

    @property
    def received(self) -> int:
        """Return the merchant's part before the fee."""
        return self.amount - self.surcharge


class Fee(NamedTuple):
    """A fee in minor units; `is_returned`: refunds bring back their share of it."""

    amount: int
    is_returned: bool


FREE = Fee(0, is_returned=False)


def fee(sale: Sale, bps: int, fixed: int, *, is_returned: bool) -> Fee:
    """Return the fee of a sale: a part rounded half up and a fixed amount, at most all of it."""
    amount = min(sale.received, _part(sale.received, bps) + fixed)
    return Fee(amount, is_returned)


def _part(received: int, bps: int) -> int:
    return (received * bps + BASE // 2) // BASE
