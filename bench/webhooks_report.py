"""The report of `./dev bench webhooks`: each figure with its bar.

See docs/contribute/benchmarks.md.
"""

from bench import bars
from bench.bars import Bar, Figures

BARS = [
    Bar("plan adds to a payment's transactions, %", "plan_1_added_percent", most=15),
    Bar("  the same with 16 endpoints, %", "plan_16_added_percent"),
    Bar("  plan, ms per payment", "plan_1_ms"),
    Bar("  all its transactions, ms", "plan_1_transactions_ms"),
    Bar("claim at 2,000 endpoints, p50 ms", "claim_p50_ms", most=5),
    Bar("  p99 ms", "claim_p99_ms"),
    Bar("  the fastest, ms", "claim_fastest_ms"),
    Bar("  this process's CPU, ms", "claim_cpu_ms"),
    Bar("  deliveries in each", "claim_deliveries"),
    Bar("  floor: one row and a commit, p50 ms", "claim_floor_p50_ms"),
    Bar("  beside five with 10,000 lanes, p50 ms", "claim_heavy_p50_ms", most=5),
    Bar("  p99 ms", "claim_heavy_p99_ms"),
    Bar("deliveries a second, kept connections", "plain_per_second", least=1500),
    Bar("  what the CPU times would allow", "plain_allowed_per_second"),
    Bar("  CPU ms of the worker for each", "plain_worker_cpu_ms"),
    Bar("  of PostgreSQL", "plain_postgres_cpu_ms"),
    Bar("  of the receiver", "plain_receiver_cpu_ms"),
    Bar("deliveries a second, new TLS connections", "tls_per_second", least=400),
    Bar("  what the CPU times would allow", "tls_allowed_per_second"),
    Bar("  CPU ms of the worker for each", "tls_worker_cpu_ms"),
    Bar("  of PostgreSQL", "tls_postgres_cpu_ms"),
    Bar("  of the receiver", "tls_receiver_cpu_ms"),
    Bar("p99 beside hanging and heavy ones / alone", "fair_ratio", most=2),
    Bar("  alone, p50 ms", "fair_alone_p50_ms"),
    Bar("  alone, p99 ms", "fair_alone_p99_ms"),
    Bar("  beside them, p50 ms", "fair_beside_p50_ms"),
    Bar("  beside them, p99 ms", "fair_beside_p99_ms"),
    Bar("from commit to receiver, idle, p50 ms", "idle_redis_p50_ms", most=50),
    Bar("  p99 ms", "idle_redis_p99_ms"),
    Bar("  without Redis, p50 ms", "idle_no_redis_p50_ms", most=1200),
    Bar("  p99 ms", "idle_no_redis_p99_ms"),
]


def verdicts(figures: Figures) -> dict[str, bool]:
    """Return whether each bar holds, by its figure."""
    return bars.verdicts(BARS, figures)


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    last = "{looked_up} deliveries looked up, 0 missing, {repeats} repeated".format_map(
        {what: sum(_of(what, figures)) for what in ("looked_up", "repeats")}
    )
    return bars.table(BARS, figures, last=last)


def _of(what: str, figures: Figures) -> list[float]:
    return [value for name, value in figures.items() if name.endswith(what)]
