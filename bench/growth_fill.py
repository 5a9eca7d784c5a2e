"""Copies a merchant's one payment: `python -m bench.growth_fill MERCHANT PAYMENTS MERCHANTS`.

All rows that it left in the service's database are copied, each time under ids of its own, over the
year before it. Prints how many seconds it took.
"""

import re
import sys
import time
from typing import Any

from django.db import connection

from bench import (
    in_bulk,
    installation,  # noqa: F401
)

OF_A_PAYMENT = (
    "merchants_idempotencykey", "vault_sealedcard", "intents_paymentintent", "intents_attempt",
    "events_counter", "events_event", "ledger_movement", "ledger_entry", "merchants_requestlog",
)  # fmt: skip
OF_A_MERCHANT = ("merchants_merchant", "merchants_apikey", "merchants_nonsecurelimit")
# Of an id of ours, or one that the client made: only its end differs from copy to copy.
OWN = re.compile(r"[a-z]{2,8}_[0-9A-Za-z]{24}")
END = 9
# Ids of what all payments share, and texts that are no ids but differ from payment to payment.
SHARED, LIKE_IDS = {"terminal_id", "api_key", "key_id"}, {"key", "acquirer_reference"}
COLUMNS = """
    SELECT column_name FROM information_schema.columns
    WHERE table_name = %s AND is_identity = 'NO' ORDER BY ordinal_position
"""
AT = "created_at - n * interval '365 days' / {count}"


def fill(merchant_id: str, payments: int, merchants: int) -> None:
    """Write so many payments, in equal parts of so many merchants; the first one is given."""
    with connection.cursor() as cursor:
        with in_bulk.filling(cursor, OF_A_MERCHANT):
            for table in OF_A_MERCHANT if merchants > 1 else ():
                _copy(cursor, table, merchant_id, merchants - 1, _of_merchant)
        with in_bulk.filling(cursor, OF_A_PAYMENT):
            for table in OF_A_PAYMENT:
                of_payment = _of_payment(merchants)
                _copy(cursor, table, merchant_id, payments - 1, of_payment)


def _copy(cursor: Any, table: str, merchant_id: str, count: int, expression: Any) -> None:
    owner = "id" if table == "merchants_merchant" else "merchant_id"
    cursor.execute(COLUMNS, [table])
    columns = [name for (name,) in cursor.fetchall()]
    names = ", ".join(columns)
    cursor.execute(f"SELECT {names} FROM {table} WHERE {owner} = %s LIMIT 1", [merchant_id])  # noqa: S608
    sample = dict(zip(columns, cursor.fetchone(), strict=True))
    made = ", ".join(expression(name, sample[name], merchant_id, count) for name in columns)
    cursor.execute(
        f"INSERT INTO {table} ({names}) SELECT {made} FROM"  # noqa: S608
        f" (SELECT * FROM {table} WHERE {owner} = %s) AS one, generate_series(1, %s) AS n",
        [merchant_id, count],
    )


def _of_merchant(name: str, value: Any, merchant_id: str, _count: int) -> str:
    if value == merchant_id or name == "id":
        return _ended(name) if isinstance(value, str) else name
    return f"sha256(convert_to({name}::text || n, 'UTF8'))" if name == "hash" else name


def _of_payment(merchants: int) -> Any:
    # The copies of the given merchant end in its numbers; copy 0 is the merchant itself.
    at = f"(n %% {merchants})"

    def expression(name: str, value: Any, merchant_id: str, count: int) -> str:
        owner = f"CASE WHEN {at} = 0 THEN merchant_id ELSE {_ended('merchant_id', at)} END"
        if name == "merchant_id":
            return owner
        if name == "account_id":
            return f"replace(account_id, '{merchant_id}', {owner})"
        if name == "created_at":
            return AT.format(count=count)
        is_own = isinstance(value, str) and bool(OWN.fullmatch(value)) and name not in SHARED
        return _ended(name) if is_own or name in LIKE_IDS else name

    return expression


def _ended(name: str, number: str = "n") -> str:
    return f"left({name}, -{END}) || lpad({number}::text, {END}, '0')"


if __name__ == "__main__":
    began = time.monotonic()
    fill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print(time.monotonic() - began)
