"""The report of `./dev bench lists`: each figure with its bar (docs/contribute/benchmarks.md)."""

from collections.abc import Iterator

from bench import bars
from bench.bars import Bar, Figures
from bench.lists_cases import COUNTED, DEEP, ENDPOINTS, FEW, Case

AWAY_PERCENT_MAX = 20
FEW_BUFFERS_MAX = 500
PAGE_MS_MAX, COUNTED_MS_MAX = 25, 60


def _bars() -> Iterator[Bar]:
    for case in DEEP:
        yield Bar(f"{_title(case)}, %", f"{case.name}_away_percent", most=AWAY_PERCENT_MAX)
        yield Bar("  buffers of page 1", f"{case.name}_first_buffers")
    for case in FEW:
        yield Bar(f"{_title(case)}, buffers", f"{case.name}_buffers", most=FEW_BUFFERS_MAX)
        yield Bar("  rows", f"{case.name}_rows")
    yield Bar("load average before the endpoint's part", "endpoint_load")
    for case in ENDPOINTS:
        most = COUNTED_MS_MAX if COUNTED in case.query else PAGE_MS_MAX
        yield Bar(f"{_title(case)}, p50 ms", f"{case.name}_p50_ms", most=most)
        yield Bar("  p99 ms", f"{case.name}_p99_ms")
        yield Bar("  CPU ms of the web process", f"{case.name}_web_cpu_ms")
        yield Bar("  of PostgreSQL", f"{case.name}_postgres_cpu_ms")


def _title(case: Case) -> str:
    shown = case.query.format(since="…", until="…", cursor="…")
    return shown.replace(COUNTED, " + total_count")


BARS = list(_bars())


def verdicts(figures: Figures) -> dict[str, bool]:
    """Return whether each bar holds, by its figure."""
    return bars.verdicts(BARS, figures)


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    answers = sum(value for name, value in figures.items() if name.endswith("_answers"))
    last = (
        f"{figures['rows']} payments in {figures['fill_seconds']:.0f} s; pages at depth"
        f" {figures['depth']}; {figures['pages']} pages and {answers} answers looked at, 0 wrong"
    )
    return bars.table(BARS, figures, last=last)
