"""How long events take, from their commit to the first byte at a receiver that is well."""

from bench.bars import Figures
from bench.client import percentile
from bench.webhooks_stage import Site

PATIENCE_SECONDS = 60


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
