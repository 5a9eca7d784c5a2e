"""Settlement files of NestPay terminals: the common columns, with fields as this protocol has them.

Each bank of the protocol has a file of its own, and the notes describe none. So the file is brought
into the columns of `manage.py reconcile` first, and here its fields are read as in a history.
"""

from collections.abc import Iterator
from typing import BinaryIO

from acquirers import messages, settlement
from acquirers.settlement import Refused, Row, Unreadable

LETTERS = {number: currency for currency, number in messages.NUMERIC.items()}
REFUNDS = ("refund", "refund_return")


def read(file: BinaryIO, *, refused: Refused) -> Iterator[Row]:
    """Return the rows of a file: `reference` is the `OrderId`, a refund's `OrderId-TransId`.

    An amount with a point is in major units, as in a history; a currency may be ISO's number.
    """
    for row in settlement.read(file, refused=refused):
        try:
            yield _plain(row)
        except Unreadable as reason:
            refused(row.number, str(reason))


def _plain(row: Row) -> Row:
    if row.type in REFUNDS and "-" not in row.reference:
        raise Unreadable("reference: a refund's is OrderId-TransId")
    currency = LETTERS.get(row.currency, row.currency)
    return row._replace(amount=_amount(row.amount), currency=currency)


def _amount(text: str) -> str:
    if "." not in text:
        return text
    try:
        return str(messages.minor(text))
    except ValueError:
        raise Unreadable("amount: not a number with two digits behind the point") from None
