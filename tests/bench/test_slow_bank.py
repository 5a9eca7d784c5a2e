"""The benchmarks of a slow bank hold every answer against the database, and clients hang up."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import crowd, ghosts, slow_bank_report, stored
from bench.client import ClientCall
from bench.crowd import NO_ANSWER, Crowd
from tests.bench.test_bench import Bench
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.lengths import length, tried
from tests.stage.web_process import environment

# In the gate a small house with few clients: the clients cost more than the service.
CLIENTS = length(short=["--clients", "20", "--percent", "34"], full=[])
THREADS = length(short={"WEB_WORKERS": "1", "WEB_THREADS": "16"}, full={})


@pytest.mark.proof(part="bench")
@pytest.mark.only_full("a benchmark of minutes; its clients and its look at the database are below")
@pytest.mark.timeout(1000)
def test_a_slow_bank_s_figures_are_found_and_nothing_is_left_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "slow-bank", *CLIENTS, patience_seconds=900, **THREADS)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in slow_bank_report.BARS} <= set(figures)
    # These hold on a busy machine too.
    assert figures["overload_refused_percent"] > 0
    assert figures["overload_other_answers"] == 0
    assert figures["overload_refused_but_stored"] == 0
    assert figures["overload_stored_but_not_told"] == 0
    assert figures["overload_health_ok_percent"] == 100
    tried(1, "overloads before a slow bank")


@pytest.mark.proof(part="bench")
@pytest.mark.only_full("a benchmark of minutes; its clients and its look at the database are below")
@pytest.mark.timeout(1300)
def test_no_payment_is_begun_for_clients_who_left(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "ghosts", "small", patience_seconds=1200)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in ghosts.BARS if "small" in bar.figure} <= set(figures)
    # On a busy machine all of them may leave; on a quick one all are told in time, or refused.
    assert figures["small_told"] + figures["small_hung_up"] > 0
    assert figures["small_ghosts"] == 0


# --- The clients ------------------------------------------------------------------------------


class Service(http.server.BaseHTTPRequestHandler):
    """Answers /paid, refuses /busy for now, and is silent at /silent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/silent":
            self.connection.recv(1)  # Until the client hangs up.
            self.close_connection = True
            return
        status, body = (
            (200, {"id": "pi_1", "status": "succeeded"})
            if self.path == "/paid"
            else (503, {"error": {"code": "overloaded"}})
        )
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status == 503:
            self.send_header("Retry-After", "60")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def heard(port: int, path: str, **terms: Any) -> list[crowd.Heard]:
    payers = Crowd("payers", ClientCall(port, path, {}, "", {"amount": 1}), clients=2, **terms)
    return list(crowd.all_of(payers, seconds=0.3))


def test_every_answer_is_kept_with_its_key(port: int) -> None:
    answers = heard(port, "/paid")

    assert len(answers) > 2
    assert {(one.status, one.id, one.state) for one in answers} == {(200, "pi_1", "succeeded")}
    assert len({one.key for one in answers}) == len(answers)


def test_a_client_waits_where_it_is_told_to(port: int) -> None:
    answers = heard(port, "/busy")

    assert [(one.status, one.code) for one in answers] == [(503, "overloaded")] * 2


def test_a_client_without_patience_hangs_up_and_asks_anew(port: int) -> None:
    answers = heard(port, "/silent", patience_seconds=0.1)

    assert {one.status for one in answers} == {NO_ANSWER}
    assert len(answers) > 2
    assert all(one.heard_at > one.sent_at for one in answers)


# --- The database -----------------------------------------------------------------------------


@pytest.fixture
def url() -> str:
    return environment()["DATABASE_URL"]


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_what_is_stored_is_found_by_its_key_and_by_its_time(
    acme: ApiClient, bank: BankTransport, url: str
) -> None:
    before = time.time()
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="paid")

    assert stored.count_keys(url, ["paid", "refused"]) == 1
    assert stored.begun_since(url, acme.merchant.id, before) == {paid["id"]}
    assert stored.begun_since(url, acme.merchant.id, time.time()) == set()
    begun = stored.begun_at(url, ["paid", "refused"])
    assert list(begun) == ["paid"]
    assert before <= begun["paid"] <= time.time()
