"""The benchmark measures what it says, refuses what is wrong, and leaves nothing running."""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil
import pytest

from bench import client, replay, rows, sql_log
from bench.client import ClientCall, percentile
from bench.load import LoadTerms
from bench.rows import Written
from bench.sql_log import SqlCommand
from devstack import cluster
from devstack.state import ROOT, CannotContinue
from tests.stage.lengths import length
from tests.stage.own_ports import own_ports
from tests.stage.service import still_running
from tests.stage.wrong_gateway import WRONG_ONCE_IN

PATIENCE_SECONDS = 300
# One client makes the same calls as eight, and leaves half of the machine to the tests beside it.
CLIENTS = length(short=["--clients", "1"], full=[])
PORTS = (
    "BENCH_PORT", "BENCH_BANK_PORT", "BENCH_RECEIVER_PORT", "BENCH_TLS_PORT", "BENCH_BESIDE_PORT",
    "BENCH_BESIDE_BANK_PORT",
)  # fmt: skip


class Bench:
    """A run of `./dev bench`, and every process that it was seen to start."""

    def __init__(
        self,
        state: Path,
        *subject: str,
        patience_seconds: float = PATIENCE_SECONDS,
        **settings: str,
    ) -> None:
        self.state = state
        self.patience_seconds = patience_seconds
        self.log = state.with_name("bench.log")
        self.processes: set[psutil.Process] = set()
        self.directories: set[Path] = set()
        # An earlier run has kept the migrated files, as one of a developer's has.
        state.mkdir(mode=0o700)
        kept = cluster.kept()
        (state / kept.name).symlink_to(kept)
        with self.log.open("w") as log:
            self.launcher = subprocess.Popen(
                [sys.executable, "-m", "bench", *CLIENTS, *subject, "--seconds", "1"],
                cwd=ROOT,
                env={**os.environ, **own_ports(*PORTS), "DEV_STATE": str(state), **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def printed(self) -> str:
        return self.log.read_text()

    def watch_until_it_prints(self, words: str) -> None:
        deadline = time.monotonic() + self.patience_seconds
        while words not in self.printed:
            assert self.launcher.poll() is None, self.printed
            assert time.monotonic() < deadline, self.printed
            self._look()

    def status(self) -> int:
        """Wait for its end; return its exit status."""
        deadline = time.monotonic() + self.patience_seconds
        while self.launcher.poll() is None:
            assert time.monotonic() < deadline, self.printed
            self._look()
        return self.launcher.returncode

    def left(self, *, after_seconds: float) -> list[str]:
        """Return the command lines of what still runs."""
        assert len(self.processes) > 10
        return still_running(list(self.processes), after_seconds=after_seconds)

    def _look(self) -> None:
        time.sleep(0.05)
        # They may end while they are looked at.
        with suppress(psutil.NoSuchProcess):
            seen = set(psutil.Process(self.launcher.pid).children(recursive=True))
            # All of them each time: one that was just forked is not yet what it is about to be.
            for process in seen:
                _, found, rest = " ".join(process.cmdline()).partition("postgres -D ")
                self.directories |= {Path(rest.split()[0]).parent} if found else set()
            self.processes |= seen


# --- The whole of it ------------------------------------------------------------------------


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(600)
def test_bench_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state")

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert figures.pop("errors") == 0
    assert figures.pop("load_before") >= 0
    assert len(figures) > 20
    assert {name: value for name, value in figures.items() if not value > 0} == {}
    assert "payment / floor" in bench.printed


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(600)
def test_a_wrong_answer_fails_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", ACQUIRERS="sandbox=tests.stage.wrong_gateway.WrongGateway")

    assert bench.status() == 1
    found = re.search(r"(\d+) of (\d+) answers of .* were wrong", bench.printed)
    assert found, bench.printed
    wrong, answers = found.groups()
    assert 0 < int(wrong) <= int(answers) // WRONG_ONCE_IN + 1
    assert "requires_payment_method" in bench.printed
    assert not (tmp_path / "state" / "bench.json").exists()
    assert bench.left(after_seconds=0) == []


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("number", "status", "patience_seconds"), [(signal.SIGINT, 130, 60), (signal.SIGKILL, -9, 120)]
)
def test_a_run_that_is_broken_off_leaves_nothing_running(
    tmp_path: Path, number: int, status: int, patience_seconds: int
) -> None:
    bench = Bench(tmp_path / "state")
    bench.watch_until_it_prints("clients call /v1/payment_intents")

    bench.launcher.send_signal(number)

    assert bench.status() == status, bench.printed
    assert bench.left(after_seconds=patience_seconds) == []
    for directory in bench.directories:
        shutil.rmtree(directory, ignore_errors=True)  # Nobody is left to do it after a kill.


# --- The clients ----------------------------------------------------------------------------


class LyingService(http.server.BaseHTTPRequestHandler):
    """Answers what is expected, and something else once in a while."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    asked = count(1)

    def do_GET(self) -> None:
        is_lie = next(self.asked) % WRONG_ONCE_IN == 0
        content = json.dumps({"status": "processing" if is_lie else "succeeded"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def lying_port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), LyingService) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_the_clients_check_every_answer(lying_port: int) -> None:
    call = ClientCall(lying_port, "/", {"status": "succeeded"})

    seen = client.load(call, clients=2, warm_seconds=0.1, seconds=0.3)

    print(f"{seen.answers} answers, {seen.wrong} wrong")  # noqa: T201
    assert seen.answers >= 2 * WRONG_ONCE_IN
    assert seen.wrong == seen.answers // WRONG_ONCE_IN
    assert "processing" in seen.first_wrong


@pytest.mark.parametrize(("percent", "seconds"), [(100, 15), (10, 15), (2, 3), (1, 1)])
def test_with_little_percent_less_is_waited_for(percent: int, seconds: int) -> None:
    assert LoadTerms(clients=8, seconds=1, percent=percent).at_least(15) == seconds


def test_percentiles_are_samples() -> None:
    samples = [0.3, 0.1, 0.2, 0.4]

    assert [percentile(samples, percent) for percent in (50, 75, 99)] == [0.2, 0.3, 0.4]


# --- The floor ------------------------------------------------------------------------------

LOG = """\
bench:web:1.a:LOG:  statement: BEGIN
bench:bank:2.b:LOG:  statement: SELECT 1
bench:web:1.a:LOG:  execute <unnamed>: INSERT INTO a
\tVALUES ($1, $2, $10)
bench:web:1.a:DETAIL:  Parameters: $1 = 'it''s $2', $2 = NULL, $10 = '3'
bench::3.c:LOG:  checkpoint starting
"""


def test_statements_are_read_from_the_log_with_their_parameters() -> None:
    assert sql_log.read(LOG) == [
        ("web", "1.a", "BEGIN"),
        ("bank", "2.b", "SELECT 1"),
        ("web", "1.a", "INSERT INTO a\nVALUES ('it''s $2', NULL, '3')"),
    ]


def asked(*texts: str, session: str = "1.a") -> list[SqlCommand]:
    return [SqlCommand("web", session, text) for text in texts]


def test_writes_are_grouped_as_they_were_committed() -> None:
    begun = asked("BEGIN", "SELECT 1", "INSERT INTO a VALUES (1)")
    aside = asked("WITH q AS (SELECT 1) UPDATE b SET c = 1", "SELECT 2", session="2.b")
    ended = asked("UPDATE a SET b = 2", "COMMIT", "BEGIN", "SELECT 3", "COMMIT")
    undone = asked("BEGIN", "DELETE FROM a", "ROLLBACK")

    assert replay.transactions([*begun, *aside, *ended, *undone]) == [
        ["WITH q AS (SELECT 1) UPDATE b SET c = 1"],
        ["INSERT INTO a VALUES (1)", "UPDATE a SET b = 2"],
    ]


def test_a_script_gives_each_payment_ids_of_its_own() -> None:
    merchant, ours, theirs = "mer_" + "M" * 24, "pi_" + "P" * 24, "pi_" + "Q" * 24
    writes, other = [[f"INSERT {merchant}, {ours}"]], [[f"INSERT {merchant}, {theirs}"]]

    script = replay.script(writes, other=other, marks={})

    assert script.endswith(f"INSERT {merchant}, pi_{'P' * 11}00z:n;\n")
    assert len(f"pi_{'P' * 11}00z") + len("1000000001") == len(ours)


def test_a_script_asks_for_the_numbers_that_the_database_gives_out() -> None:
    writes = ["INSERT INTO a DEFAULT VALUES RETURNING id", "INSERT INTO b VALUES ('{1010000007}')"]

    script = replay.script([writes], other=[], marks={"a_id_seq": 1_010_000_000})

    assert script.splitlines()[3:5] == [
        "INSERT INTO a DEFAULT VALUES RETURNING id"
        " \\; SELECT currval('a_id_seq') AS given_0 \\gset",
        "INSERT INTO b VALUES ('{:given_0}');",
    ]


@pytest.mark.parametrize("what", Written._fields)
def test_a_floor_that_writes_something_else_is_refused(what: str) -> None:
    payment = Written(added=Counter(entries=2, events=2), changed=Counter(events=1))
    floor = payment._replace(**{what: getattr(payment, what) + Counter(events=1)})

    rows.require_same(payment, payment)

    with pytest.raises(CannotContinue, match=rf"in events a payment has \d rows {what}"):
        rows.require_same(payment, floor)


def test_payments_that_do_not_all_write_the_same_have_no_floor() -> None:
    with pytest.raises(CannotContinue, match="entries: 7 payments added 13 rows"):
        rows.added_by_each(Counter(entries=1), Counter(entries=14), 7)
