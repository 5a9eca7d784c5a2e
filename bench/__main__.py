"""`./dev bench`: how fast the service is on this machine, and how fast it could be at best.

On throw-away servers that write to the disk as an installation's do; nothing is left running.
"""

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench import (
    bars,
    doubt,
    ghosts,
    ledger,
    lists,
    lists_report,
    panel,
    payments,
    reconcile,
    report,
    settlement,
    slow_bank,
    slow_bank_report,
    sql_log,
    terms,
    webhooks,
    webhooks_report,
)
from bench.load import Terms
from bench.stage import Stage
from devstack import environment, storage, up
from devstack.console import say, write
from devstack.ports import free_port
from devstack.processes import Leash
from devstack.servers import Servers
from devstack.state import CannotContinue, state_directory, sweep, try_lock

SECONDS_MAX = 60
CLIENTS_MAX = 300
# All clients are one merchant's, and refusals by its rate limit are not what is measured.
NO_LIMITS = {"RATE_LIMIT_PER_SECOND": "0"}


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
    "doubt": Subject(doubt.measure, doubt.table, 30, 300, doubt.PARTS),
    # A million attempts and a million rows of the audit log are filled in first.
    "terms": Subject(terms.measure, terms.table, 40, 1800, terms.PARTS),
    # A million rows of each of four kinds are filled in first.
    "panel": Subject(panel.measure, panel.table, 10, 1800, panel.PARTS, bars_of=panel.bars_of),
    # A million sales are filled in first.
    "reconcile": Subject(reconcile.measure, reconcile.table, 40, 1800, reconcile.PARTS),
    # A million charges of ten thousand merchants, and ten million entries of one, are filled in.
    "settlement": Subject(
        settlement.measure, settlement.table, 60, 4500, settlement.PARTS, clients=2
    ),
    "ghosts": Subject(ghosts.measure, ghosts.table, 6, 900, ghosts.PARTS, clients=250),
}


def main() -> int:
    options = _options()
    subject = SUBJECTS[options.subject]
    wanted = Terms(options.clients or subject.clients, options.seconds, options.percent)
    machine = {"cores": os.cpu_count() or 1, "load_before": os.getloadavg()[0]}
    up.end_on_signals()
    signal.signal(signal.SIGALRM, _take_too_long)
    signal.alarm(subject.measurements * options.seconds + subject.grace_seconds)
    try:
        with _stage() as stage:
            chosen = {"parts": options.parts} if options.parts else {}
            figures = {**machine, **wanted._asdict(), **subject.measure(stage, wanted, **chosen)}
        up.require_unstopped()
        options.json.write_text(report.as_json(figures))
        write(subject.table(figures))
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
        "--json",
        type=Path,
        default=state_directory() / "bench.json",
        help="the file that gets the figures (.local/bench.json)",
    )
    options = parser.parse_args()
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
    """Start the servers, and always stop them.

    :raises CannotContinue: another one runs in this checkout.
    """
    state = state_directory()
    lock = try_lock(state / "bench.lock")
    if lock is None:
        raise CannotContinue("./dev bench is already running in this checkout.")
    with lock, tempfile.TemporaryDirectory(prefix="devstack-secrets-") as kept_secret:
        sweep()
        leash = Leash(lock)
        servers = Servers.throw_away(sql_log.LOG_OPTIONS)
        try:
            yield _set(servers, leash, keyring_file=Path(kept_secret) / "keyring")
        finally:
            signal.alarm(0)  # Stopping is not to be broken off.
            servers.stop()
            leash.release()


def _set(servers: Servers, leash: Leash, *, keyring_file: Path) -> Stage:
    # Not the developer's own servers: the measurement fills and alters them.
    places = storage.open_storage(servers, {})
    for process in servers.processes.values():
        leash.hold(process)
    ports = up.Ports(
        web=free_port(variable="BENCH_PORT", first=8200),
        bank=free_port(variable="BENCH_BANK_PORT", first=8300),
    )
    ours = environment.sandbox(
        places,
        base_url=ports.base_url,
        bank_url=ports.bank_url,
        secret_key=secrets.token_urlsafe(50),
        keyring_file=environment.make_keyring(keyring_file),
    )
    return Stage(
        places=places,
        postgres_log=servers.logs / "postgres.log",
        ports=ports,
        environment={**os.environ, **ours, **NO_LIMITS},
        directory=_empty_directory(),
        leash=leash,
        pids={"postgres": servers.processes["postgres"].pid},
    )


def _empty_directory() -> Path:
    """Return where the processes' lines and the floors' scripts are kept until the next run."""
    directory = state_directory() / "bench"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    return directory


if __name__ == "__main__":
    sys.exit(main())
