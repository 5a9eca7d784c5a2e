"""The events of disputes (contract 8)."""

from events.types import Aggregate
from payments.disputes import states

AGGREGATE = Aggregate(
    "dispute",
    (states.CREATED_EVENT, states.UPDATED_EVENT, states.CLOSED_EVENT),
    scope="disputes",
    schemas=("Dispute",),
)
