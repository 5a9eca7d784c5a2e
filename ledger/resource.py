"""The balance and its transactions as resources.

The balance itself has no scope: every valid key may read it.
"""

from core.rest.resources import Resource
from ledger import schema

SCOPE = "balance"

BALANCE = Resource(path="balance", tag=("Balance", "What the account has."), schemas=schema.SCHEMAS)
TRANSACTIONS = Resource(
    path="balance_transactions",
    scope=SCOPE,
    tag=("Balance transactions", "What changed the balance, and by how much."),
)
