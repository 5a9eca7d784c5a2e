"""`./dev bench`: how fast the service is on this machine, and how fast it could be at best.

On throw-away servers that write to the disk as an installation's do; nothing is left running.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import (
    against,
    bank_doors,
    bars,
    beside,
    ghosts,
    growth,
    ledger,
    lists,
    lists_report,
    localstripe,
    opening,
    panel,
    payments,
    reconcile,
    report,
    settlement,
    slow_bank,
    slow_bank_report,
    webhooks,
    webhooks_report,
)
from bench.load import LoadTerms
from bench.stage import Stage
from devstack import up
from devstack.console import say, write
from devstack.processes import Leash
from devstack.state import CannotContinue, state_directory, sweep, try_lock

SECONDS_MAX = 60
CLIENTS_MAX = 300
ROUNDS_MAX = 6


class Subject(NamedTuple):
    """Something to measure.

    :param grace_seconds: for everything besides the measurements: starting, filling, stopping.
    :param clients: that ask at the same time, if nothing else is asked for.
    :param bars_of: the bars that fail the run; by default a figure beyond its bar is only shown.
    """

    measure: Callable[..., report.Figures]
    table: Callable[[report.Figures], str]
    measurements: int
    grace_seconds: int
    parts: Sequence[str] = ()
    clients: int = 8
    bars_of: Callable[[report.Figures], Sequence[bars.Bar]] = lambda _figures: ()


SUBJECTS = {
    "payments": Subject(payments.measure, report.table, 5, 400),
    # Most of it has a number of events instead of a length: a busy machine needs minutes.
    "webhooks": Subject(webhooks.measure, webhooks_report.table, 60, 1800, webhooks.NAMES),
    # Two million payments are filled in first.
    "lists": Subject(lists.measure, lists_report.table, 10, 1200, lists.PARTS),
    "slow-bank": Subject(
        slow_bank.measure, slow_bank_report.table, 30, 900, slow_bank.PARTS, clients=120
    ),
    # Ten million entries are filled in first.
    "ledger": Subject(ledger.measure, ledger.table, 40, 3000, ledger.PARTS),
    "localstripe": Subject(localstripe.measure, localstripe.table, 12, 400),
    # A million payments are filled in first.
    "growth": Subject(growth.measure, growth.table, 80, 2400, growth.PARTS),
    # A million rows of each of four kinds are filled in first, and eleven million movements.
    "panel": Subject(panel.measure, panel.table, 10, 9000, panel.PARTS, bars_of=panel.bars_of),
    # A million sales are filled in first.
    "reconcile": Subject(reconcile.measure, reconcile.table, 40, 1800, reconcile.PARTS),
    # A million charges of ten thousand merchants, and ten million entries of one, are filled in.
    "settlement": Subject(
        settlement.measure, settlement.table, 60, 4500, settlement.PARTS, clients=2
    ),
    "doors": Subject(
        bank_doors.measure, bank_doors.table, 15, 400, bank_doors.PARTS, bars_of=bank_doors.bars_of
    ),
    "ghosts": Subject(ghosts.measure, ghosts.table, 6, 900, ghosts.PARTS, clients=250),
}


def main() -> int:
    options = _options()
    subject = _beside(options.beside) if options.beside else SUBJECTS[options.subject]
    wanted = LoadTerms(
        options.clients or subject.clients, options.seconds, options.percent, options.rounds
    )
    machine = {"cores": os.cpu_count() or 1, "load_before": os.getloadavg()[0]}
    up.end_on_signals()
    signal.signal(signal.SIGALRM, _take_too_long)
    signal.alarm(subject.measurements * options.seconds + subject.grace_seconds)
    try:
        stored = against.stored(options.against) if options.against else None
        with _stage() as stage:
            chosen = {"parts": options.parts} if options.parts else {}
            figures = {**machine, **_asked(wanted), **subject.measure(stage, wanted, **chosen)}
        up.require_unstopped()
        options.json.write_text(report.as_json(figures))
        write(subject.table(figures))
        if stored:
            write(against.table(stored, figures))
        if missed := bars.missed(subject.bars_of(figures), figures):
            say("bench", f"{len(missed)} figures are beyond their bars: {'; '.join(missed)}")
            return 1
    except CannotContinue as refusal:
        say("bench", str(refusal))
        return 1
    except up.Stopped:
        say("bench", "stopped before the end")
        return 130
    return 0


def _asked(wanted: LoadTerms) -> report.Figures:
    return {name: value for name, value in wanted._asdict().items() if value is not None}


def _beside(commit: str) -> Subject:
    return Subject(partial(beside.measure, commit=commit), beside.table, 40, 400)


def _take_too_long(*_: object) -> None:
    raise CannotContinue("It takes too long; is the machine busy?")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument(
        "subject", nargs="?", choices=SUBJECTS, default="payments", help="(payments)"
    )
    parts = "; ".join(
        f"of {name}: {', '.join(one.parts)}" for name, one in SUBJECTS.items() if one.parts
    )
    parser.add_argument("parts", nargs="*", help=f"{parts} (all)")
    parser.add_argument(
        "--seconds", type=_up_to(SECONDS_MAX), default=5, help="of each measurement (5)"
    )
    parser.add_argument(
        "--clients",
        type=_up_to(CLIENTS_MAX),
        help="that ask at the same time (8; of slow-bank 120, of ghosts 250)",
    )
    parser.add_argument(
        "--percent",
        type=_up_to(100),
        default=100,
        help="of all that a run fills in and repeats: less tells less, and ends sooner (100)",
    )
    parser.add_argument(
        "--rounds",
        type=_up_to(ROUNDS_MAX),
        help="of what is measured in turns or several times (growth, --beside 6; panel, doors 5;"
        " localstripe 4)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=state_directory() / "bench.json",
        help="the file that gets the figures (.local/bench.json)",
    )
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="figures of an earlier run, to compare with"
    )
    parser.add_argument(
        "--beside", metavar="COMMIT", help="measure payments of another version in turns with ours"
    )
    options = parser.parse_args()
    if options.beside and options.subject != "payments":
        parser.error("--beside measures payments")
    if unknown := set(options.parts) - set(SUBJECTS[options.subject].parts):
        parser.error(f"{options.subject} has no part {', '.join(sorted(unknown))}")
    return options


def _up_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be 1 to {most}")
        return int(text)

    return number


@contextmanager
def _stage() -> Iterator[Stage]:
    """Start the servers, and always stop them."""
    lock = try_lock(state_directory() / "bench.lock")
    if lock is None:
        raise CannotContinue("./dev bench is already running in this checkout.")
    with lock:
        sweep()
        leash = Leash(lock)
        try:
            with opening.stage(leash) as stage:
                yield stage
        finally:
            leash.release()


if __name__ == "__main__":
    sys.exit(main())
