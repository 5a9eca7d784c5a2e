"""The measurement of hostile receivers: what each kind does to another merchant's deliveries."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.bars import Figures
from bench.client import percentile
from bench.cpu import taken_ms
from bench.hostile_receivers import KINDS, Kind
from bench.load import Scale
from bench.webhooks_delays import PATIENCE_SECONDS, delays, percentiles
from bench.webhooks_stage import LOOK_EVERY_SECONDS, START_PATIENCE_SECONDS, Site
from devstack.console import say
from devstack.ports import free_port
from devstack.state import CannotContinue

ENDPOINTS, EVENTS = 15, 20
PER_SECOND, STEADY_EVENTS = 100, 1_200
# A receiver that takes this part of a core leaves the others only the rest of the machine: their
# bar, in milliseconds, is wider then.
CORE_EATEN, ALLOWED_MS_BESIDE_EATEN_CORE = 0.5, 250
RATIO = 2


class Attempts(NamedTuple):
    """Attempts at a hostile receiver that are over, by how they ended."""

    endpoints: int
    outcomes: list[tuple[int | None, str | None]]


def measure(ours: Site, scale: Scale) -> Figures:
    """Measure a healthy endpoint alone, and beside each kind of hostile ones of one merchant.

    :raises CannotContinue: a hostile endpoint was not tried, or an attempt ended in a wrong way.
    """
    say("bench", f"{PER_SECOND} events a second for one endpoint, alone")
    with ours.worker():
        alone = _steady(ours, "calm", scale)
    figures = percentiles("hostile_alone", alone)
    for name in os.environ.get("BENCH_HOSTILE_KINDS", " ".join(KINDS)).split():
        figures |= _beside(ours, name, scale, percentile(alone, 99) * 1000)
    return figures


def _beside(ours: Site, name: str, scale: Scale, alone_ms: float) -> Figures:
    kind = KINDS[name]
    say("bench", f"the same beside {ENDPOINTS} endpoints: {name}")
    with _hostile(ours, name) as (site, url):
        merchants = site.tell_publisher("open_endpoints", merchants=1, each=ENDPOINTS, url=url)
        with site.worker():
            began, before = time.monotonic(), taken_ms(site.stage.pids)
            beside = _steady(site, f"beside_{name}", scale, noisy=merchants, noise=EVENTS)
            taken = (taken_ms(site.stage.pids) - before)["hostile"]
            eaten = taken / 1000 / (time.monotonic() - began)
            tried = _await_attempts(site, merchants)
    require_outcome(name, kind, tried)
    return _figures(name, beside, allowed_ms(alone_ms, eaten), eaten, len(tried.outcomes))


def _steady(ours: Site, name: str, scale: Scale, **beside: object) -> list[float]:
    gap = 1 / PER_SECOND
    return delays(ours, name, 1, scale.of(STEADY_EVENTS), [gap, gap], **beside)


def allowed_ms(alone_ms: float, eaten: float) -> float:
    """Return what the p99 may be beside a receiver that took so much of a core."""
    at_least = ALLOWED_MS_BESIDE_EATEN_CORE if eaten >= CORE_EATEN else 0
    return max(RATIO * alone_ms, at_least)


def require_outcome(name: str, kind: Kind, tried: Attempts) -> None:
    """:raises CannotContinue: not each endpoint was tried, or an attempt ended in another way."""
    if tried.endpoints < ENDPOINTS:
        raise CannotContinue(f"{tried.endpoints} of {ENDPOINTS} endpoints were tried: {name}.")
    if other := set(tried.outcomes) - {(kind.status, kind.error)}:
        raise CannotContinue(
            f"Attempts at {name} ended otherwise than they should: {sorted(map(str, other))}."
        )


def _figures(
    name: str, beside: list[float], allowed: float, eaten: float, attempts: int
) -> Figures:
    p99_ms = 1000 * percentile(beside, 99)
    return {
        f"hostile_{name}_part": p99_ms / allowed,
        f"hostile_{name}_p99_ms": p99_ms,
        f"hostile_{name}_core": eaten,
        f"hostile_{name}_attempts": attempts,
        f"hostile_{name}_looked_up": len(beside),
    }


def _await_attempts(ours: Site, merchants: list[str]) -> Attempts:
    """Return the attempts at these merchants' endpoints, waited for until each had one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        endpoints, outcomes = ours.tell_publisher("attempts", merchants=merchants)
        if endpoints >= ENDPOINTS or time.monotonic() > deadline:
            return Attempts(endpoints, [tuple(outcome) for outcome in outcomes])


@contextmanager
def _hostile(ours: Site, name: str) -> Iterator[tuple[Site, str]]:
    """Run a hostile receiver, and let what is started on the site send to it at a URL."""
    kind, stage = KINDS[name], ours.stage
    port = free_port(variable="BENCH_HOSTILE_PORT", first=8800)
    hosts = f"{stage.environment['WEBHOOK_DEV_HOSTS']},127.0.0.1:{port}"
    site = ours._replace(
        stage=stage._replace(environment=stage.environment | {"WEBHOOK_DEV_HOSTS": hosts})
    )
    certificate = Path(getattr(ours.certificates, kind.tls or "trusted"))
    program = ["bench.hostile_receivers", name, str(port), str(certificate)]
    with stage.program("hostile", program):
        _wait_for(port)
        yield site, f"{'https' if kind.tls else 'http'}://127.0.0.1:{port}/{name}"


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_PATIENCE_SECONDS
    while True:
        try:
            with closing(socket.create_connection(("127.0.0.1", port))):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise CannotContinue("The hostile receiver does not answer.") from None
            time.sleep(LOOK_EVERY_SECONDS)
