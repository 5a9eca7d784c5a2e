"""The measurement of refunds over HTTP: two merchants in turns, each of whose payments is refunded.

Every payment is refunded in part, so that the bank is asked for a refund and not for a void.
"""

import json
import time
from collections.abc import Mapping
from statistics import median

from bench.bars import Figures
from bench.client import ClientCall, Line
from bench.payments import PATH, SUCCEEDED
from devstack import demo
from devstack.state import CannotContinue

REFUNDS = "/v1/refunds"
PART = 100
# The first ones of a process are slower: connections are opened, statements prepared.
WARM = 20


def measure(port: int, keys: Mapping[str, str], count: int) -> Figures:
    """Return the median time of `POST /v1/refunds` of each merchant, in ms.

    :param keys: a secret key by the merchant's name.
    :param count: so many refunds of each merchant are timed.
    :raises CannotContinue: a payment or a refund did not succeed.
    """
    line = Line(port)
    taken: dict[str, list[float]] = {name: [] for name in keys}
    try:
        for _ in range(WARM + count):
            for name, key in keys.items():
                taken[name].append(_refund(line, port, key))
    finally:
        line.close()
    return {f"{name}_posted_ms": median(taken[name][WARM:]) for name in keys}


def _refund(line: Line, port: int, key: str) -> float:
    """Pay, refund a part, and return how long the refund took, in ms."""
    paid = _succeeded(line, ClientCall(port, PATH, SUCCEEDED, key, demo.first_payment()))
    asked = ClientCall(port, REFUNDS, SUCCEEDED, key, {"payment_intent": paid, "amount": PART})
    began = time.perf_counter()
    _succeeded(line, asked)
    return (time.perf_counter() - began) * 1000


def _succeeded(line: Line, call: ClientCall) -> str:
    """Return the id of what the call made."""
    status, content = line.ask(call.request())
    if problem := call.problem(status, content):
        raise CannotContinue(f"{call.path}: {problem}.")
    return str(json.loads(content)["id"])
