"""`./dev bench growth`: a payment among many, and one among few, on servers of their own.

Both services run at the same time and are asked in turns (`bench.turns`), so that the machine's
other work meets both alike.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from bench import bars, opening, turns
from bench.bars import Bar
from bench.load import LoadTerms
from bench.payments import ask
from bench.report import Figures
from bench.stage import Stage
from bench.turns import Shop
from devstack.console import say

NAMES = ("many", "few")
FEW_PAYMENTS, MANY_PAYMENTS, MANY_MERCHANTS = 10_000, 1_000_000, 10_000
FILL_SECONDS = 1_200


class Size(NamedTuple):
    """How much is in a database, in equal parts of all merchants."""

    payments: int
    merchants: int


FEW = Size(FEW_PAYMENTS, 1)
SIZES = {
    "payments": Size(MANY_PAYMENTS, 1),
    "merchants": Size(FEW_PAYMENTS, MANY_MERCHANTS),
}
PARTS = tuple(SIZES)
# 0.95 of the payments a second that a busy CPU makes, and a little more.
MOST = 1.05
CALLS = {"payment": "a payment", "retrieve": "a retrieve", "list": "a list of 100"}
TITLES = {"payments": "1,000,000 payments", "merchants": "10,000 merchants"}
BARS = [
    Bar(f"{title} among {many}", f"{part}_{call}_ratio", most=MOST)
    for part, many in TITLES.items()
    for call, title in CALLS.items()
]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Fill two databases for each part, and measure their services in turns.

    :raises CannotContinue: an answer was wrong.
    """
    few = _filled(stage, FEW, terms)
    figures: Figures = {}
    for part in parts:
        with opening.stage_beside(stage.leash) as beside:
            many = _filled(beside, SIZES[part], terms)
            found = turns.measure(many, few, terms, names=NAMES)
        figures |= {f"{part}_{name}": value for name, value in found.items()}
        figures |= {f"{part}_{call}_ratio": _ratio(found, call) for call in CALLS}
    return figures


def table(figures: Figures) -> str:
    last = "CPU of the web process and of PostgreSQL, divided by that among 10,000 of one merchant."
    return bars.table(BARS, figures, last=last)


def _ratio(found: Figures, call: str) -> float:
    """Return the CPU time among many as so many of that among few, of both processes together."""
    web, postgres = (found[f"{call}_{process}_ratio"] for process in ("web", "postgres"))
    share = found[f"{call}_web_cpu_ms_few"], found[f"{call}_postgres_cpu_ms_few"]
    return (web * share[0] + postgres * share[1]) / sum(share)


def _filled(stage: Stage, size: Size, terms: LoadTerms) -> Shop:
    merchant = stage.open_merchant()
    shop = Shop(stage, merchant["secret_key"])
    with stage.service():
        ask(shop.pay)
    payments, merchants = (max(2, terms.scale.of(count)) for count in size)
    say("bench", f"copying a payment to {payments} of {merchants} merchants")
    counts = [str(payments), str(merchants if size.merchants > 1 else 1)]
    program = [sys.executable, "-m", "bench.growth_fill", merchant["merchant_id"], *counts]
    stage.output_of(program, seconds=FILL_SECONDS)
    return shop
