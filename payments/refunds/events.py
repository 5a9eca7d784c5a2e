"""The events of refunds (contract 8)."""

from events.types import Aggregate
from payments.refunds import states

AGGREGATE = Aggregate(
    "refund",
    (states.CREATED, states.UPDATED, states.SUCCEEDED, states.FAILED),
    scope="refunds",
    schemas=("Refund",),
)
