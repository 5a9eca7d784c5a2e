"""How balances are described in the API's schema."""

from core.rest import schema
from core.rest.components import Choices, named
from core.rest.schema import Operation, Schemas, nullable, ref, text
from ledger.filters import TRANSACTION_TYPE

_AMOUNTS = schema.array(
    named(
        "BalanceAmount",
        schema.record(
            "An amount in one currency.",
            {
                "amount": schema.integer("Minor units; may be negative.", minimum=None),
                "currency": schema.CURRENCY,
            },
        ),
    ),
    "By currency; the account's default currency is always there.",
)

_STATUS = Choices(
    "BalanceTransactionStatus",
    {
        "pending": "The money is not settled: it is in `pending` until `available_on`.",
        "available": "The money is settled, and in `available`.",
    },
)
_SIGNED = "Minor units; below 0 for what is taken from you."

SCHEMAS: Schemas = {
    "Balance": schema.resource(
        "balance",
        "bal",
        "The money of your account, by currency. The default currency is always listed.",
        {
            "available": {**_AMOUNTS, "description": "What can be paid out, by currency."},
            "pending": {**_AMOUNTS, "description": "Charged and not settled yet, by currency."},
            "reserved": {**_AMOUNTS, "description": "Held back for disputes, by currency."},
            "negative_limit": {
                **_AMOUNTS,
                "description": "How far below 0 `available` may go, by currency.",
            },
        },
    ),
    "BalanceTransaction": schema.resource(
        "balance_transaction",
        "txn",
        "A change of what is pending and available together.",
        {
            "amount": schema.integer(f"Without the fee. {_SIGNED}", minimum=None),
            "fee": schema.integer(
                "The fee that you paid, or got back if below 0. Minor units.", minimum=None
            ),
            "net": schema.integer(f"`amount` less `fee`. {_SIGNED}", minimum=None),
            "currency": schema.CURRENCY,
            "type": TRANSACTION_TYPE.open("What moved the money."),
            "source": text("The id of the object behind it; a charge's payment."),
            "description": nullable(text("A description; null if there is none.")),
            "available_on": schema.instant("From when it is available."),
            "status": _STATUS.open("Whether the money can be used."),
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
    "list": Operation(
        "List balance transactions",
        schema.list_of("BalanceTransactionList", ref("BalanceTransaction")),
        description="The movements of your balance, the newest first unless `sort` says otherwise.",
    ),
    "retrieve": Operation(
        "Read a balance transaction",
        ref("BalanceTransaction"),
        description="The balance transaction. Only its status may have changed since it was made.",
    ),
}
