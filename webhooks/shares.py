"""How much of a claim a merchant gets: none fills the event loop while others want it too."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A merchant that is alone may have so many of one claim, half of what it takes, or one for each
# of its endpoints.
SHARE_ALONE = 14
# Beside others it gets fewer: one less for each of its deliveries that this process makes already.
# A receiver that costs time, by its handshakes or by what it sends, soon has many of them under
# way, and the more these are, the longer everybody's take.
SHARE_BESIDE_OTHERS, LEAST_SHARE = 6, 2
# Who wanted something so lately counts as another: it will want something soon.
LATELY_SECONDS = 1.0


class Found(NamedTuple):
    """An endpoint that has something to send.

    :param room: how many leases it may have, over all processes.
    """

    endpoint_id: str
    merchant_id: str
    is_ready: bool
    is_degraded: bool
    room: int


class Shares:
    """Divides claims, and remembers who had something to send."""

    def __init__(self) -> None:
        self._wanted_at: dict[str, float] = {}

    def of(
        self, found: Sequence[Found], degraded_slots: int, under_way: Mapping[str, int]
    ) -> list[int]:
        """Return how many leases each endpoint may get now.

        :param degraded_slots: how many of them endpoints may get that keep failing, or take long.
        :param under_way: how many deliveries of each merchant this process makes already.
        """
        endpoints_of = Counter(endpoint.merchant_id for endpoint in found)
        left = self._of_merchants(endpoints_of, under_way)
        each = {
            merchant: max(1, left[merchant] // count) for merchant, count in endpoints_of.items()
        }
        shares = [0] * len(found)
        # In another order each time: else the last of many endpoints would wait for the others.
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
