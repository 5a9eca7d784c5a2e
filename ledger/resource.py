"""The balance as a resource. It has no scope: every valid key may read it."""

from core.rest.resources import Resource
from ledger import schema

RESOURCE = Resource(
    path="balance", tag=("Balance", "What the account has."), schemas=schema.SCHEMAS
)
