"""Own work of each adapter for one sale: `python -m bench.adapter_work COUNT DOOR …`, as JSON.

Sales go to the simulated bank, which answers each as it answers the service. The time of this
thread on a processor counts: reading the card, building, hashing, parsing and judging the answer,
without the exchange itself.
"""

import json
import sys
import time
from dataclasses import replace
from statistics import median
from typing import Any
from unittest.mock import patch

from bench import installation  # noqa: F401

# isort: split
# Django is set up from here on.
import acquirers
from acquirers import references, wire
from acquirers.gateway import AuthorizationRequest
from acquirers.outcomes import Answer
from core import context
from payments.bank.orders import order_to_pay
from payments.intents.models import Attempt

# The first sales open connections and fill caches.
WARM = 20
CVC = "123"


def own_work(door: str, count: int) -> float:
    """Return the middle time, in ms, that the adapter of a door works for one sale.

    :raises AssertionError: a sale was not approved.
    """
    attempt = Attempt.objects.filter(terminal__kind=door, status="succeeded").latest("created_at")
    return median([_sale(attempt) for _ in range(WARM + count)][WARM:])


def _sale(attempt: Attempt) -> float:
    """Sell once more what an attempt sold, as another order; return ms of the adapter's own."""
    order = replace(order_to_pay(attempt), reference=references.new())
    request = AuthorizationRequest(order=order, capture=True, sealed=attempt.sealed_card, cvc=CVC)
    gateway = acquirers.of(attempt)
    away = 0.0
    post = wire.post

    def timed_post(*arguments: Any, **options: Any) -> wire.Received:
        nonlocal away
        left = time.thread_time()
        try:
            return post(*arguments, **options)
        finally:
            away += time.thread_time() - left

    with patch.object(wire, "post", timed_post), context.work():
        began = time.thread_time()
        outcome = gateway.authorize(request)
        taken = time.thread_time() - began
    assert outcome.answer is Answer.APPROVED, outcome.answer
    assert away > 0, "the bank was not asked"
    return (taken - away) * 1000


if __name__ == "__main__":
    doors = {door: own_work(door, int(sys.argv[1])) for door in sys.argv[2:]}
    print(json.dumps(doors))  # noqa: T201
