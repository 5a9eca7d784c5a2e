"""The benchmark of webhooks looks every event up, and its receiver knows what came."""

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import webhooks, webhooks_authority, webhooks_report
from bench.client import Line
from bench.stage import Stage
from bench.webhooks_stage import Seen, Site
from devstack.ports import free_port
from devstack.state import ROOT, CannotContinue
from tests.bench.test_bench import Bench
from tests.stage.lengths import length


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1300)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    parts, verdicts = length(short=(["kept", "redis"], 2), full=(webhooks.NAMES, 8))
    bench = Bench(tmp_path / "state", "webhooks", *parts, patience_seconds=1200)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert len(webhooks_report.verdicts(figures)) == verdicts
    assert figures["plain_looked_up"] == 2400
    assert " looked up, 0 missing, 0 repeated" in bench.printed


# --- The receiver -------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    certificate = webhooks_authority.make(tmp_path).trusted
    ports = [free_port(variable="PLAIN_PORT", first=8600), free_port(variable="TLS", first=8700)]
    command = ["-m", "bench.webhooks_receiver", *map(str, ports), str(certificate)]
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT)
    try:
        site = Site(NO_STAGE, *ports)
        site.wait()
        yield site
    finally:
        process.kill()
        process.wait()


NO_STAGE = Stage(*[None] * len(Stage._fields))


def delivery(path: str, event_id: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nContent-Length: 2\r\nPF-Event-Id: {event_id}\r\n\r\n"
    return head.encode() + b"{}"


def test_the_receiver_remembers_what_came_where_and_when(site: Site) -> None:
    before, line = time.time(), Line(site.port)
    for path, event_id in (("/a/1", "evt_1"), ("/b/1", "evt_2"), ("/a/2", "evt_1")):
        assert line.ask(delivery(path, event_id)) == (200, b"")
    line.close()

    (first, at), (second, later) = site.seen("a", ["evt_1"])
    assert (first, second, site.ask("count", "b")) == ("evt_1", "evt_1", 1)
    assert before <= at <= later <= time.time()


def test_the_receiver_speaks_tls_once_per_connection(site: Site, tmp_path: Path) -> None:
    trust = ssl.create_default_context(cafile=tmp_path / "authority.pem")
    line = Line(site.tls_port)
    line._socket = trust.wrap_socket(line._socket, server_hostname="127.0.0.1")

    assert line.ask(delivery("/tls/1", "evt_1")) == (200, b"")
    assert line._socket.recv(1) == b""
    line.close()


def test_an_event_that_never_came_ends_the_run(site: Site, tmp_path: Path) -> None:
    line = Line(site.port)
    line.ask(delivery("/a/1", "evt_1"))
    line.close()
    site = site._replace(stage=NO_STAGE._replace(directory=tmp_path))

    with pytest.raises(CannotContinue, match="1 of 2 events never came to /a; one is evt_2"):
        site.seen("a", ["evt_1", "evt_2"])


# --- Order, bars --------------------------------------------------------------------------------

PLANNED = [("evt_1", "pi_1", 1), ("evt_3", "pi_2", 1), ("evt_2", "pi_1", 2)]


def came(*events: str) -> Seen:
    return [(event, float(at)) for at, event in enumerate(events)]


def test_repeats_are_in_order_and_a_later_event_that_came_first_is_not() -> None:
    webhooks.require_order("a", came("evt_1", "evt_2", "evt_1", "evt_3"), PLANNED)

    with pytest.raises(CannotContinue, match="1 events came to /a before an earlier one"):
        webhooks.require_order("a", came("evt_2", "evt_3", "evt_1"), PLANNED)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(lambda value: value, True), (lambda value: value * 1.01, False)],
    ids=["at the bar", "above it"],
)
def test_a_bar_holds_or_does_not(change: Callable[[float], float], verdict: bool) -> None:
    figures: dict[str, Any] = {bar.figure: 1.0 for bar in webhooks_report.BARS}
    figures |= {"claim_p50_ms": change(5.0), "plain_per_second": 1499}

    verdicts = webhooks_report.verdicts(figures)

    assert verdicts["claim_p50_ms"] is verdict
    assert verdicts["plain_per_second"] is False
