"""Metrics of real processes: gunicorn's workers are added up; the public address has none."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.stage.draining import until
from tests.stage.own_ports import own_ports
from tests.stage.scrapes import Scrape, read, revealing, value
from tests.stage.web_process import WebProcess

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

ASKED, PLACES = 40, {"route": "livez", "status": "200"}


def scrape(port: int) -> Scrape:
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=60)
    assert answer.status_code == 200
    return read(answer.text)


@pytest.fixture
def port() -> int:
    return int(own_ports("METRICS")["METRICS"])


@pytest.fixture
def web(tmp_path: Path, port: int) -> Iterator[WebProcess]:
    bind = {"METRICS_BIND": f"127.0.0.1:{port}", "TMPDIR": str(tmp_path)}
    web = WebProcess(tmp_path / "log", WEB_WORKERS="2", **bind)
    yield web
    web.stop()


def test_two_workers_are_added_up_and_none_is_lost_when_one_is_killed(
    web: WebProcess, port: int, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _number: web.is_alive(), range(ASKED)))
    assert value(scrape(port), "pay_requests_total", **PLACES) == ASKED

    for worker in web.workers():
        os.kill(worker.pid, signal.SIGKILL)
    until(lambda: web.log.count("Booting worker") == 4)
    assert web.is_alive()

    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(scrape, [port] * 10))
    assert {value(one, "pay_requests_total", **PLACES) for one in found} == {ASKED + 1}
    assert revealing(found[0]) == []
    assert requests.get(f"{web.url}/metrics", timeout=60).status_code == 404

    web.stop()
    assert list(tmp_path.glob("pay-metrics-*")) == []


LONG = b"x" * 9000
UNREAD = {
    b"no http\r\n\r\n": ("400", "parameter_invalid"),
    b"GET /" + LONG + b" HTTP/1.1\r\n\r\n": ("414", "parameter_invalid"),
    b"GET / HTTP/1.1\r\nHost: a\r\nLong: " + LONG + b"\r\n\r\n": ("431", "parameter_invalid"),
}


def test_requests_that_the_server_itself_refuses_are_counted(web: WebProcess, port: int) -> None:
    for sent, (status, code) in UNREAD.items():
        assert web.send(sent).status == int(status)

        labels = {"route": "none", "method": "other", "status": status, "code": code}
        assert value(scrape(port), "pay_requests_total", **labels) == 1
    assert value(scrape(port), "pay_requests_total") == len(UNREAD)
