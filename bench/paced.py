"""Payments with a pause after each, alone and during other work."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from statistics import median
from typing import TypeVar

from bench.bars import Figures
from bench.client import ClientCall, Line, percentile
from bench.load import LoadTerms
from devstack.state import CannotContinue

# Clients without pauses fill the machine: any other work would slow each of them.
PACE_SECONDS = 0.05
Done = TypeVar("Done")


def beside(
    call: ClientCall, terms: LoadTerms, work: Callable[[], Done], *, alone_seconds: int
) -> tuple[Figures, Done]:
    """Pay for a while, and then for as long as the work takes; return both waits, and its result.

    :param alone_seconds: for so long at least, with many percent: p99 of few says little.
    :raises CannotContinue: a payment did not succeed.
    """
    with ThreadPoolExecutor(1) as other:
        alone_until = time.monotonic() + terms.at_least(alone_seconds)
        alone = _pay(call, terms.clients, lambda: time.monotonic() > alone_until)
        running: Future[Done] = other.submit(work)
        meanwhile = _pay(call, terms.clients, running.done)
        done = running.result()
    times = percentile(meanwhile, 99) / percentile(alone, 99)
    return {**_waits("alone", alone), **_waits("beside", meanwhile), "beside_times": times}, done


def _waits(name: str, took: list[float]) -> Figures:
    return {f"{name}_p50_ms": median(took), f"{name}_p99_ms": percentile(took, 99)}


def _pay(call: ClientCall, clients: int, is_over: Callable[[], bool]) -> list[float]:
    """Let clients pay; return what each payment took, in ms."""
    with ThreadPoolExecutor(clients) as crowd:
        shares: Iterable[list[float]] = crowd.map(
            lambda _number: _pay_until(call, is_over), range(clients)
        )
        return [took for share in shares for took in share]


def _pay_until(call: ClientCall, is_over: Callable[[], bool]) -> list[float]:
    line = Line(call.port)
    took: list[float] = []
    try:
        while not is_over() or not took:
            took.append(pay_once(call, line))
            time.sleep(PACE_SECONDS)
    finally:
        line.close()
    return took


def pay_once(call: ClientCall, line: Line) -> float:
    """Make a payment; return how many ms it took.

    :raises CannotContinue: it did not succeed.
    """
    began = time.perf_counter()
    answer = line.ask(call.request())
    took = (time.perf_counter() - began) * 1000
    if problem := call.problem(*answer):
        raise CannotContinue(f"{call.path}: {problem}.")
    return took
