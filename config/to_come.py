"""Objects of the spec whose rooms are not built yet: endpoints may subscribe to their events.

Each declaration moves into its room with it.
"""

from events.aggregates import Aggregate

REFUND = Aggregate(
    "refund", ("refund.created", "refund.updated", "refund.succeeded", "refund.failed")
)
DISPUTE = Aggregate("dispute", ("dispute.created", "dispute.updated", "dispute.closed"))
PAYOUT = Aggregate("payout", ("payout.created", "payout.paid", "payout.failed"))
TOPUP = Aggregate("topup", ("topup.succeeded", "topup.updated"))
