"""What a measurement found, for people and for programs."""

import json
from typing import NamedTuple


class Report(NamedTuple):
    """The figures that docs/benchmarks.md explains."""

    cores: int
    load_before: float
    clients: int
    seconds: int
    payments_per_second: float
    payment_p50_ms: float
    payment_p99_ms: float
    retrieves_per_second: float
    retrieve_p50_ms: float
    retrieve_p99_ms: float
    payment_floor_per_second: float
    bank_floor_per_second: float
    retrieve_floor_per_second: float
    payment_to_floor: float
    retrieve_to_floor: float
    statements_per_payment: int
    statements_per_retrieve: int
    commits_per_payment: int
    rows_added_per_payment: int
    rows_changed_per_payment: int
    bank_statements_per_payment: int
    bank_commits_per_payment: int
    bank_rows_added_per_payment: int
    payment_clients_cpu_share: float
    retrieve_clients_cpu_share: float
    floor_clients_cpu_share: float
    answers: int
    errors: int


def as_json(report: Report) -> str:
    figures = {name: round(value, 4) for name, value in report._asdict().items()}
    return json.dumps(figures, indent=2) + "\n"


def table(report: Report) -> str:
    r = report
    speeds = [
        ("", "per second", "p50 ms", "p99 ms", "clients' CPU %"),
        (
            "create and confirm",
            *(r.payments_per_second, r.payment_p50_ms, r.payment_p99_ms),
            r.payment_clients_cpu_share * 100,
        ),
        (
            "retrieve",
            *(r.retrieves_per_second, r.retrieve_p50_ms, r.retrieve_p99_ms),
            r.retrieve_clients_cpu_share * 100,
        ),
        ("floor: a payment's rows", r.payment_floor_per_second),
        (
            "floor: a bare view",
            r.retrieve_floor_per_second,
            "",
            "",
            r.floor_clients_cpu_share * 100,
        ),
        ("floor: the bank's rows", r.bank_floor_per_second),
    ]
    counts = [
        ("", "a payment", "a retrieve", "the bank"),
        (
            "SQL statements",
            *(r.statements_per_payment, r.statements_per_retrieve, r.bank_statements_per_payment),
        ),
        ("commits that write", r.commits_per_payment, "", r.bank_commits_per_payment),
        ("rows added", r.rows_added_per_payment, "", r.bank_rows_added_per_payment),
        ("rows changed", r.rows_changed_per_payment),
    ]
    lines = [
        f"{r.clients} clients, {r.seconds} s each; {r.cores} cores, load {r.load_before:.1f}",
        *map(_line, speeds),
        "",
        f"payment / floor   {r.payment_to_floor:.3f}",
        f"retrieve / floor  {r.retrieve_to_floor:.3f}",
        "",
        *map(_line, counts),
        "",
        f"{r.answers} answers, {r.errors} wrong",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _line(cells: tuple[str | float, ...]) -> str:
    name, *rest = cells
    shown = (f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in rest)
    return f"{name:<26}" + "".join(f"{cell:>16}" for cell in shown)
