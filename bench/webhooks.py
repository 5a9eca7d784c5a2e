"""The measurement of webhooks: what planning costs, claims, deliveries, fairness, latency.

Every event that is published is looked up at the receiver; one that is missing ends the run.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from bench.bars import Figures
from bench.client import ClientCall, percentile
from bench.cpu import cpu_of_each, taken_ms
from bench.load import LoadTerms, Scale, load
from bench.payments import PATH, SUCCEEDED
from bench.stage import Stage
from bench.webhooks_stage import Seen, Site, site
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

MERCHANT_ENDPOINTS = 16
PAYING_CLIENTS = 2
CLAIMS = 300
CROWD = 125  # Merchants, of 16 endpoints each: 2,000.
HEAVY_ENDPOINTS, HEAVY_LANES = 5, 10_000
HANGING_LANES = 100
# Endpoints that share the backlog: each may have eight deliveries in flight.
BACKLOG_ENDPOINTS = 64
BACKLOG_OBJECTS, BACKLOG_EACH = 6_000, 2
TLS_OBJECTS = 3_000
STEADY_MERCHANTS, STEADY_PER_SECOND, STEADY_EVENTS = 20, 150, 1_500
IDLE_SAMPLES = 60
PATIENCE_SECONDS = 60
# Between two events when the worker is idle; without Redis at any moment of its second.
GAP_SECONDS, GAP_SECONDS_WITHOUT_REDIS = [0.1, 0.2], [0.4, 0.9]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = ()) -> Figures:
    """Measure one thing after the other.

    :param parts: names from `PARTS`, or `planning`; all of them by default.
    :raises CannotContinue: an event never came, came out of order, or an answer was wrong.
    """
    scale = terms.scale
    figures: Figures = {}
    merchant = stage.open_merchant()
    if not parts or "planning" in parts:
        figures |= _told(_planning(stage, merchant, terms))
    with site(stage) as ours:
        for name, part in PARTS.items():
            if not parts or name in parts:
                figures |= _told(part(ours, scale))
    return figures


def _told(figures: Figures) -> Figures:
    # At once: a run that is broken off later has still shown these.
    say("bench", ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return figures


# --- Planning -----------------------------------------------------------------------------------


def _planning(stage: Stage, merchant: dict[str, str], terms: LoadTerms) -> Figures:
    """Measure which part of a payment's transactions planning is, with 1 endpoint and with 16."""
    times = stage.directory / "transactions"
    clocks = {"DJANGO_SETTINGS_MODULE": "bench.timed_settings", "BENCH_TIMES": str(times)}
    timed = stage._replace(environment=stage.environment | clocks)
    pay = ClientCall(timed.ports.web, PATH, SUCCEEDED, merchant["secret_key"], demo.first_payment())
    # Nobody listens there, and nothing is sent.
    ours = Site(timed, port=1, tls_port=1)
    figures: Figures = {}
    with timed.service():
        for endpoints, more in ((1, 1), (MERCHANT_ENDPOINTS, MERCHANT_ENDPOINTS - 1)):
            ours.tell_publisher(
                "add_endpoints", merchant=merchant["merchant_id"], each=more, url=ours.plain_url
            )
            times.write_text("")
            paid = load(timed, pay, terms._replace(clients=PAYING_CLIENTS))
            figures |= _plans(f"plan_{endpoints}", times, paid.seen.answers)
    ours.tell_publisher("close_all")
    return figures


def _plans(name: str, times: Path, payments: int) -> Figures:
    took = [tuple(map(float, line.split())) for line in times.read_text().splitlines()]
    planned = sum(plan for _, plan in took)
    if not planned:
        raise CannotContinue("No plan was timed.")
    rest = sum(transaction for transaction, _ in took) - planned
    return {
        f"{name}_added_percent": 100 * planned / rest,
        f"{name}_ms": planned / payments,
        f"{name}_transactions_ms": (rest + planned) / payments,
    }


# --- Claims -------------------------------------------------------------------------------------


def _claims(ours: Site, scale: Scale) -> Figures:
    """Measure claims with all endpoints' lanes open, and again with heavy ones among them."""
    crowd = ours.tell_publisher(
        "open_endpoints",
        merchants=scale.of(CROWD),
        each=MERCHANT_ENDPOINTS,
        url=f"{ours.plain_url}/crowd",
    )
    ours.tell_publisher("fill", merchants=crowd, objects=2 * len(crowd), each=1)
    say("bench", f"claims with {len(crowd) * MERCHANT_ENDPOINTS} endpoints")
    figures = _claimed("claim", ours, scale)
    _open_heavy(ours, scale)
    figures |= _claimed("claim_heavy", ours, scale)
    ours.tell_publisher("close_all")
    return figures


def _claimed(name: str, ours: Site, scale: Scale) -> Figures:
    command = [sys.executable, "-m", "bench.webhooks_claims", str(scale.of(CLAIMS))]
    samples = json.loads(ours.stage.output_of(command, seconds=PATIENCE_SECONDS))
    return {f"{name}_{figure}": value for figure, value in samples.items()}


def _open_heavy(ours: Site, scale: Scale) -> None:
    heavy = ours.tell_publisher(
        "open_endpoints", merchants=1, each=HEAVY_ENDPOINTS, url=f"{ours.plain_url}/heavy"
    )
    say("bench", f"{scale.of(HEAVY_LANES)} due lanes for each of {HEAVY_ENDPOINTS} endpoints")
    ours.tell_publisher("fill", merchants=heavy, objects=scale.of(HEAVY_LANES), each=1)


# --- Deliveries ---------------------------------------------------------------------------------


def _kept_connections(ours: Site, scale: Scale) -> Figures:
    return _backlog(ours, "plain", ours.plain_url, scale.of(BACKLOG_OBJECTS), BACKLOG_EACH)


def _new_connections(ours: Site, scale: Scale) -> Figures:
    return _backlog(ours, "tls", ours.tls_url, scale.of(TLS_OBJECTS), 1)


def _backlog(ours: Site, name: str, url: str, objects: int, each: int) -> Figures:
    """Measure how fast a backlog is delivered, and look every event of it up."""
    merchants = ours.tell_publisher(
        "open_endpoints", merchants=BACKLOG_ENDPOINTS, each=1, url=f"{url}/{name}"
    )
    events = ours.tell_publisher("fill", merchants=merchants, objects=objects, each=each)
    say("bench", f"{len(events)} deliveries, {name}")
    with ours.worker():
        before = taken_ms(ours.stage.pids)
        ours.await_count(name, len(events), seconds=PATIENCE_SECONDS)
        cpu = cpu_of_each(before, taken_ms(ours.stage.pids), len(events))
    came = ours.seen(name, [event for event, _, _ in events])
    require_order(name, came, events)
    times = sorted(at for _, at in came)
    return {
        f"{name}_per_second": len(came) / (times[-1] - times[0]),
        f"{name}_allowed_per_second": _allowed_per_second(cpu),
        f"{name}_looked_up": len(events),
        f"{name}_repeats": len(came) - len(events),
        **{f"{name}_{process}_cpu_ms": ms for process, ms in cpu.items()},
    }


def _allowed_per_second(cpu_ms: Counter[str]) -> float:
    """Return the rate at which the worker would take a core, or all would take every core."""
    cores = os.cpu_count() or 1
    return 1000 / max(cpu_ms["worker"], cpu_ms.total() / cores)


def require_order(name: str, came: Seen, events: Iterable[tuple[str, str, int]]) -> None:
    """:raises CannotContinue: an object's event came before an earlier one of it."""
    first = {event: place for place, (event, _) in reversed(list(enumerate(came)))}
    by_object: dict[str, list[int]] = {}
    for event, object_id, _ in sorted(events, key=lambda event: event[2]):
        by_object.setdefault(object_id, []).append(first[event])
    wrong = sum(
        earlier > later for places in by_object.values() for earlier, later in pairwise(places)
    )
    if wrong:
        raise CannotContinue(
            f"{wrong} events came to /{name} before an earlier one of their object."
        )


# --- Fairness and latency -----------------------------------------------------------------------


def _fairness(ours: Site, scale: Scale) -> Figures:
    """Measure steady deliveries alone, and again with endpoints that hang or are behind."""
    alone = _steady(ours, "alone", scale)
    _open_heavy(ours, scale)
    hanging = ours.tell_publisher(
        "open_endpoints", merchants=1, each=1, url=f"{ours.plain_url}/hang"
    )
    ours.tell_publisher("fill", merchants=hanging, objects=HANGING_LANES, each=1)
    beside = _steady(ours, "beside", scale)
    noise = {which: ours.ask("count", which) for which in ("heavy", "hang")}
    if not all(noise.values()):
        raise CannotContinue(f"Nothing was in the way of the steady deliveries: {noise}.")
    return {
        **percentiles("fair_alone", alone),
        **percentiles("fair_beside", beside),
        "fair_ratio": percentile(beside, 99) / percentile(alone, 99),
        "fair_heavy_deliveries": noise["heavy"],
        "fair_hanging_deliveries": noise["hang"],
    }


def _steady(ours: Site, name: str, scale: Scale) -> list[float]:
    say("bench", f"{STEADY_PER_SECOND} events a second, {name}")
    gap = 1 / STEADY_PER_SECOND
    with ours.worker():
        return delays(ours, name, STEADY_MERCHANTS, scale.of(STEADY_EVENTS), [gap, gap])


def _with_redis(ours: Site, scale: Scale) -> Figures:
    return _latency(ours, "redis", GAP_SECONDS, scale)


def _without_redis(ours: Site, scale: Scale) -> Figures:
    return _latency(ours.without_redis(), "no_redis", GAP_SECONDS_WITHOUT_REDIS, scale)


def _latency(ours: Site, name: str, gap_seconds: list[float], scale: Scale) -> Figures:
    """Measure how long an event takes from its commit when nothing else is to be sent."""
    say("bench", f"an event now and then, {name}")
    with ours.worker():
        came_after = delays(ours, name, 1, scale.of(IDLE_SAMPLES), gap_seconds)
    return percentiles(f"idle_{name}", came_after)


# --- From the commit to the first byte at a receiver ------------------------------------------


def delays(
    ours: Site, name: str, merchants: int, count: int, gap_seconds: list[float]
) -> list[float]:
    """Return the seconds from each commit to the first byte at the receiver.

    The sending process runs already.
    """
    steady = ours.tell_publisher(
        "open_endpoints", merchants=merchants, each=1, url=f"{ours.plain_url}/{name}"
    )
    # The worker is awake, and has a connection, before anything is measured.
    ours.tell_publisher("fill", merchants=steady, objects=merchants, each=1)
    ours.await_count(name, merchants, seconds=PATIENCE_SECONDS)
    committed = ours.tell_publisher(
        "publish", merchants=steady, count=count, gap_seconds=gap_seconds
    )
    ours.await_count(name, merchants + count, seconds=PATIENCE_SECONDS)
    arrived: dict[str, float] = {}
    for event, at in ours.seen(name, committed):
        arrived.setdefault(event, at)
    return [arrived[event] - at for event, at in committed.items()]


def percentiles(name: str, seconds: list[float]) -> Figures:
    return {
        f"{name}_p50_ms": 1000 * percentile(seconds, 50),
        f"{name}_p99_ms": 1000 * percentile(seconds, 99),
        f"{name}_looked_up": len(seconds),
    }


PARTS = {
    "claims": _claims,
    "kept": _kept_connections,
    "tls": _new_connections,
    "fairness": _fairness,
    "redis": _with_redis,
    "no-redis": _without_redis,
}
NAMES = ["planning", *PARTS]
