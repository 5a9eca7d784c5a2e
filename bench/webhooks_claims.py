"""How long a claim takes: `python -m bench.webhooks_claims CLAIMS` prints samples in ms as JSON.

Beside what is open, nothing runs: a claim is timed, not what it waits for.
"""

import json
import sys
import time
from collections import deque

from django.conf import settings

from bench import installation  # noqa: F401
from bench.client import percentile
from webhooks import lanes

WARM = 10
DEGRADED_PART = 4


def claims(count: int) -> list[float]:
    """Return the ms that each claim took, with as many deliveries in flight as there are slots.

    :raises RuntimeError: a claim found nothing, although much is due.
    """
    in_flight: deque[list[lanes.Claimed]] = deque()
    took = []
    for _ in range(WARM + count):
        while settings.WEBHOOK_SLOTS - sum(map(len, in_flight)) < lanes.CLAIM_MAX:
            lanes.release(in_flight.popleft())
        began = time.perf_counter()
        claimed = lanes.claim(
            slots=settings.WEBHOOK_SLOTS - sum(map(len, in_flight)),
            degraded_slots=settings.WEBHOOK_SLOTS // DEGRADED_PART,
        )
        took.append((time.perf_counter() - began) * 1000)
        if not claimed:
            raise RuntimeError("nothing was claimed")
        in_flight.append(claimed)
    for claimed in in_flight:
        lanes.release(claimed)
    return took[WARM:]


if __name__ == "__main__":
    samples = claims(int(sys.argv[1]))
    print(json.dumps({"p50_ms": percentile(samples, 50), "p99_ms": percentile(samples, 99)}))
