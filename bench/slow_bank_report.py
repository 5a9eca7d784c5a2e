"""The report of `./dev bench slow-bank`: each figure with its bar.

See docs/contribute/benchmarks.md.
"""

from bench import bars
from bench.bars import Bar, Figures

BARS = [
    Bar("payments a second", "steady_per_second", least=25),
    Bar("  p50 ms", "steady_pay_p50_ms"),
    Bar("  refused, %", "steady_refused_percent"),
    Bar("  cores that the web process took", "steady_web_cores"),
    Bar("  answers but 200, 409, 503", "steady_other_answers", most=0),
    Bar("  left processing", "steady_unsettled"),
    Bar("reads beside them, p50 ms", "steady_reads_p50_ms"),
    Bar("  p99 ms", "steady_reads_p99_ms", most=150),
    Bar("  200, %", "steady_reads_ok_percent", least=100),
    Bar("  a second", "steady_reads_per_second"),
    Bar("overload: payments a second", "overload_per_second"),
    Bar("  p50 ms", "overload_pay_p50_ms"),
    Bar("  refused, %", "overload_refused_percent"),
    Bar("    for their age", "overload_late_percent"),
    Bar("  cores that the web process took", "overload_web_cores"),
    Bar("  answers but 200, 409, 503", "overload_other_answers", most=0),
    Bar("  refused, and stored something", "overload_refused_but_stored", most=0),
    Bar("  stored, and nobody was told", "overload_stored_but_not_told", most=0),
    Bar("  left processing", "overload_unsettled"),
    Bar("  reads, 200, %", "overload_reads_ok_percent", least=99),
    Bar("  p50 ms", "overload_reads_p50_ms"),
    Bar("  p99 ms", "overload_reads_p99_ms", most=500),
    Bar("  customers, 200, %", "overload_writes_ok_percent"),
    Bar("  p99 ms", "overload_writes_p99_ms"),
    Bar("  healthz, 200, %", "overload_health_ok_percent", least=100),
    Bar("  p99 ms", "overload_health_p99_ms", most=500),
    Bar("afterwards: payments a second", "after_per_second", least=25),
    Bar("  / before", "after_to_before", least=0.8),
    Bar("  reads, p99 ms", "after_reads_p99_ms", most=150),
]


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    return bars.table(BARS, figures, last="A bank of 2 s; {clients} clients.".format(**figures))
