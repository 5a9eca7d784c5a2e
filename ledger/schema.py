"""How balances are described in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, Schemas, nullable, ref, text
from ledger.models import Movement

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

_SIGNED = "Minor units; below 0 for what is taken from you."

SCHEMAS: Schemas = {
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
    ),
    "BalanceTransaction": schema.resource(
        "balance_transaction",
        "txn",
        "A change of what is pending and available together.",
        {
            "amount": schema.integer(f"Without the fee. {_SIGNED}", minimum=None),
            "fee": schema.integer("What you paid, or got back if below 0.", minimum=None),
            "net": schema.integer(f"`amount` less `fee`. {_SIGNED}", minimum=None),
            "currency": schema.CURRENCY,
            "type": schema.one_of(Movement.Type.values, "What moved the money."),
            "source": text("The id of the object behind it; a charge's payment."),
            "description": nullable(text("Words about it.")),
            "available_on": schema.instant("From when it is available."),
            "status": schema.one_of(
                ("pending", "available"), "Pending until `available_on` is settled."
            ),
        },
    ),
}

BALANCE = {
    "retrieve": Operation(
        "Read your balance",
        ref("Balance"),
        description="Every valid key may: a 200 shows that the key works.",
    )
}

BALANCE_TRANSACTIONS = {
    "list": Operation("List balance transactions", schema.list_of(ref("BalanceTransaction"))),
    "retrieve": Operation("Read a balance transaction", ref("BalanceTransaction")),
}
