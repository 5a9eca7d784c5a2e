"""How long a claim takes: `python -m bench.webhooks_claims CLAIMS` prints figures as JSON.

After each claim one row is changed and committed: the least that a claim could cost, under the
same load of the machine and on the same disk.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection

from bench import installation  # noqa: F401
from bench.client import percentile
from webhooks.delivery import lanes
from webhooks.delivery.messages import Capacity, Claimed

WARM = 10
DEGRADED_PART = 4
FLOOR = "UPDATE webhooks_lane SET open_count = open_count WHERE id = %s"


@dataclass
class Samples:
    """Durations in ms of repeated work: `took` by the clock, `cpu` of this process alone."""

    took: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def take(self, work: Callable[[], list[Claimed]]) -> list[Claimed]:
        began, began_cpu = time.perf_counter(), time.process_time()
        result = work()
        self.cpu.append((time.process_time() - began_cpu) * 1000)
        self.took.append((time.perf_counter() - began) * 1000)
        return result


def measure(count: int) -> dict[str, float]:
    """Claim so often, with as many deliveries in flight as there are slots.

    :raises RuntimeError: a claim found nothing, although much is due.
    """
    in_flight: deque[list[Claimed]] = deque()
    claims, floor, deliveries = Samples(), Samples(), 0
    for number in range(WARM + count):
        if number == WARM:
            claims, floor, deliveries = Samples(), Samples(), 0
        while _free(in_flight) < lanes.CLAIM_MAX:
            lanes.release(in_flight.popleft())
        claimed = claims.take(lambda: _claim(in_flight))
        if not claimed:
            raise RuntimeError("nothing was claimed")
        floor.take(lambda: _change(claimed[0]))  # noqa: B023
        in_flight.append(claimed)
        deliveries += len(claimed)
    for claimed in in_flight:
        lanes.release(claimed)
    return {
        "p50_ms": percentile(claims.took, 50),
        "p99_ms": percentile(claims.took, 99),
        "fastest_ms": min(claims.took),
        "cpu_ms": percentile(claims.cpu, 50),
        "floor_p50_ms": percentile(floor.took, 50),
        "deliveries": deliveries / count,
    }


def _free(in_flight: deque[list[Claimed]]) -> int:
    return settings.WEBHOOK_SLOTS - sum(map(len, in_flight))


def _claim(in_flight: deque[list[Claimed]]) -> list[Claimed]:
    degraded = settings.WEBHOOK_SLOTS // DEGRADED_PART
    return lanes.claim(Capacity(_free(in_flight), degraded, under_way={}))


def _change(claimed: Claimed) -> list[Claimed]:
    with connection.cursor() as cursor:
        cursor.execute(FLOOR, [claimed.lease.lane_id])
    return []


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
