"""Two services in turns: a block of payments of each, then of reads of each, and all again.

Whatever else the machine does meanwhile meets both alike; so the ratio of two blocks that follow
each other says more than either figure. The middle one of all these ratios counts.
"""

from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from bench.client import ClientCall
from bench.load import LoadTerms, Measured, load
from bench.payments import PATH, SUCCEEDED, ask, list_of, show
from bench.report import Figures
from bench.stage import Stage
from devstack import demo

ROUNDS = 6
PROCESSES = ("web", "postgres", "bank")


class Shop(NamedTuple):
    """A merchant of a service that is set up and not running."""

    stage: Stage
    secret_key: str

    @property
    def pay(self) -> ClientCall:
        """Return the call by which the merchant takes a payment."""
        return ClientCall(
            port=self.stage.ports.web,
            path=PATH,
            expected=SUCCEEDED,
            secret_key=self.secret_key,
            body=demo.first_payment(),
        )


class Side(NamedTuple):
    """One of the two services, running, with the calls that it is asked."""

    stage: Stage
    calls: Mapping[str, ClientCall]


def measure(first: Shop, second: Shop, terms: LoadTerms, *, names: tuple[str, str]) -> Figures:
    """Measure two services, which run at the same time and are asked in turns.

    :param names: of the figures: `payment_web_cpu_ms_NAME`; ratios are of first and second.
    :raises CannotContinue: an answer was wrong.
    """
    with first.stage.service(), second.stage.service():
        sides = [_side(shop) for shop in (first, second)]
        blocks = [_round(sides, terms, turn) for turn in range(terms.rounds or ROUNDS)]
    return _figures(blocks, names)


def _side(shop: Shop) -> Side:
    """Make the calls of a service, and the hundred payments that its lists show."""
    pay = shop.pay
    paid = [ask(pay) for _ in range(100)]
    calls = {"payment": pay, "retrieve": show(pay, paid[0]["id"]), "list": list_of(pay)}
    return Side(shop.stage, calls)


def _round(sides: list[Side], terms: LoadTerms, turn: int) -> dict[str, list[Measured]]:
    """Measure each call of both, now the one first and now the other."""
    found: dict[str, list[Measured]] = {}
    for call in sides[0].calls:
        blocks = {at: load(sides[at].stage, sides[at].calls[call], terms) for at in _order(turn)}
        found[call] = [blocks[0], blocks[1]]
    return found


def _order(turn: int) -> tuple[int, int]:
    return (0, 1) if turn % 2 == 0 else (1, 0)


def _figures(blocks: list[dict[str, list[Measured]]], names: tuple[str, str]) -> Figures:
    figures: Figures = {"rounds": len(blocks)}
    for call in blocks[0]:
        for process in PROCESSES:
            pairs = [[one.cpu_ms[process] for one in block[call]] for block in blocks]
            if not all(all(pair) for pair in pairs):
                continue  # It has no part in such a call.
            for at, name in enumerate(names):
                figures[f"{call}_{process}_cpu_ms_{name}"] = median(pair[at] for pair in pairs)
            figures[f"{call}_{process}_ratio"] = median(pair[0] / pair[1] for pair in pairs)
    return figures


def table(figures: Figures, *, names: tuple[str, str], heading: str) -> str:
    """Return CPU times in ms of both, and the middle one of the ratios of their blocks."""
    first, second = names
    lines = [
        heading,
        "",
        f"{'CPU ms':<28}{first:>12}{second:>12}{'ratio':>10}",
    ]
    for ratio in [name for name in figures if name.endswith("_ratio")]:
        what = ratio.removesuffix("_ratio")
        ms = [figures[f"{what}_cpu_ms_{name}"] for name in names]
        shown = what.replace("_", ", ")
        lines.append(f"{shown:<28}{ms[0]:>12.2f}{ms[1]:>12.2f}{figures[ratio]:>10.2f}")
    return "\n".join(["", *lines, ""])
