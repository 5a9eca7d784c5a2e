"""The report of `./dev bench`: a table for people, JSON for programs.

See docs/contribute/benchmarks.md.
"""

import json

from bench import replay
from bench.floor import Floor
from bench.load import Measured
from bench.rows import Written
from bench.sql_log import SqlCommand

Figures = dict[str, float]

SPEEDS = {
    "create and confirm": "payment",
    "retrieve": "retrieve",
    "list of 100": "list",
    "floor: a payment's rows": "payment_floor",
    "floor: a bare view": "bare",
    "floor: the bank's rows": "bank_floor",
}
SPEED_COLUMNS = {
    "per second": "per_second",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "web CPU ms": "web_cpu_ms",
    "bank": "bank_cpu_ms",
    "PostgreSQL": "postgres_cpu_ms",
    "clients": "clients_cpu_ms",
    "web MiB": "web_mib",
    "connections": "connections",
}
WORK = {"a payment": "payment", "the bank's part": "bank", "a retrieve": "retrieve"}
WORK_COLUMNS = {
    "statements": "statements",
    "commits": "commits",
    "rows added": "rows_added",
    "changed": "rows_changed",
}
HEADING = "{clients} clients, {seconds} s each; {cores} cores, load {load_before:.1f} before"
NAME_WIDTH, WIDTH = 24, 12


def speed(name: str, measured: Measured) -> Figures:
    seen = measured.seen
    return {
        f"{name}_per_second": seen.per_second,
        f"{name}_p50_ms": seen.p50_ms,
        f"{name}_p99_ms": seen.p99_ms,
        f"{name}_clients_cpu_ms": seen.cpu_ms,
        **{f"{name}_{process}_cpu_ms": ms for process, ms in measured.cpu_ms.items()},
        **{f"{name}_{what}": count for what, count in measured.held.items() if count},
    }


def floor_speed(name: str, floor: Floor) -> Figures:
    return {
        f"{name}_per_second": floor.per_second,
        f"{name}_postgres_cpu_ms": floor.cpu_ms["postgres"],
    }


def work(name: str, asked: list[SqlCommand], written: Written) -> Figures:
    """Return what one payment asks of a database; zeros are left out."""
    counts = {
        f"{name}_statements": len(asked),
        f"{name}_commits": len(replay.transactions(asked)),
        f"{name}_rows_added": written.added.total(),
        f"{name}_rows_changed": written.changed.total(),
    }
    return {what: count for what, count in counts.items() if count}


def as_json(figures: Figures) -> str:
    return json.dumps({name: round(f, 4) for name, f in figures.items()}, indent=2) + "\n"


def table(figures: Figures) -> str:
    f = figures
    lines = [
        HEADING.format(**f),
        "",
        *_grid(SPEEDS, SPEED_COLUMNS, figures),
        "",
        f"payment / floor   {f['payment_to_floor']:.3f}",
        f"retrieve / floor  {f['retrieve_to_floor']:.3f}",
        f"CPU: a payment's PostgreSQL / floor's {f['payment_postgres_to_floor']:.2f},"
        f" retrieve / bare view {f['retrieve_cpu_to_bare']:.2f}",
        "",
        *_grid(WORK, WORK_COLUMNS, figures),
        "",
        f"{f['answers']} answers, {f['errors']} wrong",
    ]
    return "\n" + "\n".join(line.rstrip() for line in lines) + "\n"


def _grid(names: dict[str, str], columns: dict[str, str], figures: Figures) -> list[str]:
    """Return lines of a table whose cells are the figures called `name_column`."""
    heading = " " * NAME_WIDTH + "".join(f"{title:>{WIDTH}}" for title in columns)
    return [heading] + [
        f"{title:<{NAME_WIDTH}}"
        + "".join(_cell(figures.get(f"{name}_{column}")) for column in columns.values())
        for title, name in names.items()
    ]


def _cell(figure: float | None) -> str:
    match figure:
        case None:
            return " " * WIDTH
        case int():
            return f"{figure:>{WIDTH}}"
    return f"{figure:>{WIDTH}.{1 if figure >= 10 else 2}f}"
