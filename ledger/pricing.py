"""The fee of a charge, by the merchant's prices of that moment (contract-money: fees)."""

from typing import NamedTuple

from core import prepared

BASE = 10_000  # Basis points in the whole.

# Of several rows the most specific counts: for card type and installments, for installments, for
# the card type, for neither. Asked with every payment, and therefore prepared.
FIND = """
SELECT bps, fixed, returns_fee FROM ledger_price
WHERE merchant_id = %(merchant)s::text AND currency = %(currency)s::text
  AND coalesce(card_type = %(card_type)s::text, true)
  AND coalesce(installments = %(installments)s::smallint, true)
ORDER BY installments IS NULL, card_type IS NULL LIMIT 1
"""


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


def fee_of(merchant_id: str, sale: Sale) -> Fee:
    """Return the fee of a sale: a part rounded half up and a fixed amount, at most all of it."""
    terms = sale._asdict() | {"merchant": merchant_id}
    for bps, fixed, is_returned in prepared.rows(FIND, terms):
        return Fee(min(sale.received, _part(sale.received, bps) + fixed), is_returned)
    return FREE


def _part(received: int, bps: int) -> int:
    return (received * bps + BASE // 2) // BASE
