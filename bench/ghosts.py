"""The measurement of payments that begin after their client has hung up: there must be none."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from bench import bars, stored
from bench.bars import Bar, Figures
from bench.crowd import NO_ANSWER, Crowd, Heard, ask
from bench.load import LoadTerms
from bench.rows import Counts, held
from bench.slow_bank import BANK, Shops, open_shops
from bench.stage import Stage
from devstack.console import say

PATIENCE_SECONDS = 3
SECONDS = 15
# For so long nothing may be written before we believe that nothing more will be.
QUIET_SECONDS, QUIET_AFTER_SECONDS = 10, 150
LOOK_EVERY_SECONDS = 0.5


class House(NamedTuple):
    """An installation, and what stands before its door; all of `clients`, or so many."""

    settings: dict[str, str]
    clients: int | None = None


HOUSES = {
    # The one that the fault was found with: 40 payments were begun after everybody had left.
    "small": House({"WEB_WORKERS": "1", "WEB_THREADS": "4"}, clients=40),
    "whole": House({}),
}
PARTS = list(HOUSES)
BARS = [
    Bar("four threads, 40 clients: asked", "small_asked"),
    Bar("  told of their payment", "small_told"),
    Bar("  refused", "small_refused"),
    Bar("  hung up", "small_hung_up"),
    Bar("    their payment begun before", "small_begun_before"),
    Bar("    their payment begun afterwards", "small_ghosts", most=0),
    Bar("    the last one, s afterwards", "small_latest_seconds"),
    Bar("all threads: asked", "whole_asked"),
    Bar("  told of their payment", "whole_told"),
    Bar("  refused", "whole_refused"),
    Bar("  hung up", "whole_hung_up"),
    Bar("    their payment begun before", "whole_begun_before"),
    Bar("    their payment begun afterwards", "whole_ghosts", most=0),
    Bar("    the last one, s afterwards", "whole_latest_seconds"),
]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Let clients ask who hang up after three seconds, before a bank that takes two.

    :raises CannotContinue: a process failed.
    """
    shops, seconds = open_shops(stage), terms.scale.of(SECONDS)
    figures: Figures = {}
    for name in parts:
        settings, clients = HOUSES[name]
        ours = stage._replace(environment=stage.environment | settings)
        with ours.service(bank=BANK):
            found = _ghosts(ours, shops, clients or terms.clients, seconds)
        figures |= {f"{name}_{figure}": value for figure, value in found.items()}
    return figures


def table(figures: Figures) -> str:
    return bars.table(BARS, figures, last=f"A bank of 2 s; clients wait {PATIENCE_SECONDS} s.")


def _ghosts(stage: Stage, shops: Shops, clients: int, seconds: float) -> Figures:
    crowd = Crowd("payers", shops.pay, clients, patience_seconds=PATIENCE_SECONDS)
    heard = ask(stage, [crowd], seconds=seconds)["payers"]
    _await_quiet(stage)
    left = {one.key: one.heard_at for one in heard if one.status == NO_ANSWER}
    begun = stored.begun_at(stage.databases["web"], left)
    late = [begun_at - left[key] for key, begun_at in begun.items() if begun_at > left[key]]
    return {
        "asked": len(heard),
        "told": _count(heard, 200),
        "refused": _count(heard, 409, 503),
        "hung_up": len(left),
        "begun_before": len(begun) - len(late),
        "ghosts": len(late),
        "latest_seconds": max(late, default=0.0),
    }


def _count(heard: list[Heard], *statuses: int) -> int:
    return sum(one.status in statuses for one in heard)


def _await_quiet(stage: Stage) -> None:
    """Wait until nothing is written any more, so that a ghost has had its time to come."""
    say("bench", "everybody has left; the service may end what it has begun")
    url, began = stage.databases["web"], time.monotonic()
    counts: Counts = held(url)
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_SECONDS:
        time.sleep(LOOK_EVERY_SECONDS)
        before, counts = counts, held(url)
        if before != counts:
            quiet_since = time.monotonic()
        if time.monotonic() - began > QUIET_AFTER_SECONDS:
            return
