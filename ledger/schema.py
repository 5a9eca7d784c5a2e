"""How balances are described in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, ref

_AMOUNTS = schema.array(
    schema.record(
        "An amount in one currency.",
        {
            "amount": schema.integer("Minor units; may be negative.", minimum=None),
            "currency": schema.CURRENCY,
        },
    ),
    "By currency; the account's default currency is always there.",
)

SCHEMAS = {
    "Balance": schema.resource(
        "balance",
        "bal",
        "What the account has.",
        {
            "available": {**_AMOUNTS, "description": "What can be paid out, by currency."},
            "pending": {**_AMOUNTS, "description": "Charged, not yet settled, by currency."},
            "reserved": {**_AMOUNTS, "description": "Held back for disputes, by currency."},
            "negative_limit": {**_AMOUNTS, "description": "How far below 0 it may go."},
        },
    )
}

BALANCE = {
    "retrieve": Operation(
        "Read your balance",
        ref("Balance"),
        description="Every valid key may: a 200 shows that the key works.",
    )
}
