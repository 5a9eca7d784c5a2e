"""The events of balances (contract 8)."""

from events.types import Aggregate, Meaning

AVAILABLE = "balance.available"
NEGATIVE_LIMIT_EXCEEDED = "balance.negative_limit_exceeded"

AGGREGATE = Aggregate(
    "balance",
    (AVAILABLE, NEGATIVE_LIMIT_EXCEEDED),
    scope=None,
    schemas=("Balance",),
    meanings={
        AVAILABLE: Meaning(
            cause=(
                "A settlement run has made pending money available. Each run records it once for "
                "your account."
            ),
            previous=(
                "`available` and `pending` as they were before the run; arrays are given whole."
            ),
        ),
        NEGATIVE_LIMIT_EXCEEDED: Meaning(
            cause="A refund, a dispute or a fee took `available` below your negative limit.",
            previous="The arrays that the movement changed, such as `available`, given whole.",
        ),
    },
)
