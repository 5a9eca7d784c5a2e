"""Objects of the spec whose rooms are not built yet: endpoints may subscribe to their events.

Each declaration moves into its room with it.
"""

from events.aggregates import Aggregate

PAYOUT = Aggregate("payout", ("payout.created", "payout.paid", "payout.failed"))
TOPUP = Aggregate("topup", ("topup.succeeded", "topup.updated"))
