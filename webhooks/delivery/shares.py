"""Shares of a claim: no merchant may fill the event loop while others have deliveries due."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A merchant that is alone gets up to this many deliveries of a claim (half of it), or one for each
# of its endpoints if they are more.
SHARE_ALONE = 14
# Beside others a merchant gets six, less one for each of its deliveries that are under way in this
# process, and at least two. A receiver that costs much time, by its handshakes or its answers, soon
# has many requests under way, and each of them slows down the deliveries of all merchants.
SHARE_BESIDE_OTHERS, LEAST_SHARE = 6, 2
# A merchant that had deliveries due within this time counts as another one: more will follow soon.
LATELY_SECONDS = 1.0


class DueEndpoint(NamedTuple):
    """An endpoint with a due delivery.

    :param is_ready: it gets its deliveries in order; else it is failing or being replayed, and gets
        resends only.
    :param room: the number of leases that it may have, over all processes.
    """

    endpoint_id: str
    merchant_id: str
    is_ready: bool
    is_degraded: bool
    room: int


class Shares:
    """Divides claims among merchants; remembers which of them had deliveries due lately."""

    def __init__(self) -> None:
        self._wanted_at: dict[str, float] = {}

    def of(
        self, found: Sequence[DueEndpoint], degraded_slots: int, under_way: Mapping[str, int]
    ) -> list[int]:
        """Return the number of leases that each of the endpoints may get now, in their order.

        :param degraded_slots: as in `Capacity`, and so `under_way`.
        """
        endpoints_of = Counter(endpoint.merchant_id for endpoint in found)
        left = self._of_merchants(endpoints_of, under_way)
        each = {
            merchant: max(1, left[merchant] // count) for merchant, count in endpoints_of.items()
        }
        shares = [0] * len(found)
        # In a random order: otherwise the last of a merchant's many endpoints would get a share
        # only once the others have nothing due.
        for number in random.sample(range(len(found)), len(found)):
            endpoint = found[number]
            merchant = endpoint.merchant_id
            share = min(endpoint.room, each[merchant], left[merchant])
            if endpoint.is_degraded:
                share = min(share, degraded_slots)
                degraded_slots -= share
            left[merchant] -= share
            shares[number] = share
        return shares

    def _of_merchants(
        self, endpoints_of: Mapping[str, int], under_way: Mapping[str, int]
    ) -> dict[str, int]:
        now = time.monotonic()
        self._wanted_at |= dict.fromkeys(endpoints_of, now)
        self._wanted_at = {
            merchant: at for merchant, at in self._wanted_at.items() if now - at < LATELY_SECONDS
        }
        if len(self._wanted_at) <= 1:
            return {merchant: max(SHARE_ALONE, count) for merchant, count in endpoints_of.items()}
        return {
            merchant: max(LEAST_SHARE, SHARE_BESIDE_OTHERS - under_way.get(merchant, 0))
            for merchant in endpoints_of
        }
