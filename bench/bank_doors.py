"""The measurement of a bank's doors: payments through each, in turns, on the same processes.

The simulated bank parses, hashes and signs on the same cores, so a door's figure is of both sides.
"""

import json
import sys
from collections.abc import Sequence
from statistics import median

from bench import bars
from bench.bars import Bar, Figures
from bench.client import ClientCall
from bench.load import LoadTerms, Measured, load
from bench.payments import PATH, SUCCEEDED, ask
from bench.stage import Stage
from devstack import demo
from devstack.children import begin, finish

ROUNDS = 5
PROCESSES = ("web", "bank", "postgres")
SANDBOX = demo.DOOR
PARTS = ["nestpay", "garanti"]
# Of the sandbox's own door; a median of rounds, each of two blocks behind each other.
LEAST = 0.8
# For one sale an adapter builds, hashes and parses at most so long, in ms of a processor.
OWN_MS_MOST = 1.0
OWN_SALES, OWN_SECONDS = 100, 300


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Pay at the sandbox's own door and at the others, in turns.

    :param parts: doors of protocols, all by default.
    :raises CannotContinue: an answer was wrong.
    """
    stage.migrate()
    pays = {door: _pay(stage, door) for door in (SANDBOX, *parts)}
    with stage.service():
        for pay in pays.values():
            ask(pay)  # The first is unlike the others: it opens the merchant's accounts.
        rounds = [measure_round(stage, pays, terms, turn) for turn in range(terms.rounds or ROUNDS)]
        return {**figures_of(rounds), **_own_work(stage, parts)}


def table(figures: Figures) -> str:
    shown = [bar for door in (SANDBOX, *PARTS) for bar in _rows(door)]
    return bars.table([*shown, *bars_of(figures)], figures, last=f"{figures['rounds']:.0f} rounds")


def bars_of(_figures: Figures) -> Sequence[Bar]:
    """Return the bars that fail a run."""
    ratios = [Bar(f"{door} / {SANDBOX}", f"{door}_to_{SANDBOX}", least=LEAST) for door in PARTS]
    own = [Bar(f"{door}: own ms of a sale", f"{door}_own_ms", most=OWN_MS_MOST) for door in PARTS]
    return [*ratios, *own]


def _own_work(stage: Stage, parts: Sequence[str]) -> Figures:
    """Let a process sell by each adapter alone; return the middle ms of its own work."""
    command = [sys.executable, "-m", "bench.adapter_work", str(OWN_SALES), *parts]
    figures: Figures = json.loads(stage.output_of(command, seconds=OWN_SECONDS))
    return {f"{door}_own_ms": took for door, took in figures.items()}


def _pay(stage: Stage, door: str) -> ClientCall:
    merchant = stage.open_another()
    chosen = ["bank", "door", door, "--merchant", merchant["merchant_id"]]
    finish(begin(chosen, stage.environment, root=stage.root))
    return ClientCall(
        port=stage.ports.web,
        path=PATH,
        expected=SUCCEEDED,
        secret_key=merchant["secret_key"],
        body=demo.first_payment(),
    )


def measure_round(
    stage: Stage, pays: dict[str, ClientCall], terms: LoadTerms, turn: int
) -> dict[str, Measured]:
    """Measure each door, now from the first one on and now from the last."""
    doors = list(pays)[:: 1 if turn % 2 == 0 else -1]
    return {door: load(stage, pays[door], terms) for door in doors}


def figures_of(rounds: list[dict[str, Measured]]) -> Figures:
    """Return the middle figures of each door, and of the ratios of each round."""
    figures: Figures = {"rounds": len(rounds)}
    for door in rounds[0]:
        blocks = [one[door] for one in rounds]
        figures[f"{door}_per_second"] = median(block.seen.per_second for block in blocks)
        for process in PROCESSES:
            figures[f"{door}_{process}_cpu_ms"] = median(block.cpu_ms[process] for block in blocks)
        ratios = [one[door].seen.per_second / one[SANDBOX].seen.per_second for one in rounds]
        figures[f"{door}_to_{SANDBOX}"] = median(ratios)
    return figures


def _rows(door: str) -> list[Bar]:
    cpu = [Bar(f"  CPU ms: {process}", f"{door}_{process}_cpu_ms") for process in PROCESSES]
    return [Bar(f"{door}: payments per second", f"{door}_per_second"), *cpu]
