"""The address of the metrics: one for each kind of process, at a port or at a path."""

import http.client
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from structlog.testing import capture_logs

from core import metrics
from core.metrics import Counter, address, files
from tests.stage.scrapes import read, value

ASKED = Counter("test_asked_total", "Of these tests.")


class OverSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    yield
    address.end()


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    bind = str(tmp_path / "m")
    with override_settings(METRICS_BIND=bind):
        address.begin("web")
        address.serve()
        yield f"{bind}.web"


def ask(path: str, place: str = "/metrics", method: str = "GET") -> tuple[int, str]:
    connection = OverSocket(path, timeout=30)
    try:
        connection.request(method, place)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("bind", "found"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9467)),
        ("[::1]:9464", ("::1", 9467)),
        ("/run/pay/metrics", "/run/pay/metrics.beat"),
    ],
)
def test_each_kind_of_process_has_an_address_of_its_own(bind: str, found: Any) -> None:
    assert address.address_of(bind, "beat") == found


def test_without_an_address_nothing_is_counted_or_listened_at() -> None:
    address.begin("web")

    assert not metrics.is_on()
    assert address._listening == []


def test_ten_at_once_get_the_same_text(path: str) -> None:
    ASKED.count(by=7)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(ask, [path] * 10))

    assert [status for status, _text in answers] == [200] * 10
    assert {value(read(text), "test_asked_total") for _status, text in answers} == {7}


@pytest.mark.parametrize("place", ["/", "/metrics/", "/v1/balance", "/metricsx"])
def test_nothing_else_is_at_the_address(path: str, place: str) -> None:
    assert ask(path, place)[0] == 404


def test_nothing_can_be_changed_there(path: str) -> None:
    assert ask(path, method="POST")[0] == 501


def test_a_client_that_sends_nothing_holds_nobody_up(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path)

        assert ask(path)[0] == 200


def test_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "m.web")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)  # Its file stays.

    with override_settings(METRICS_BIND=path.removesuffix(".web")):
        address.begin("web")
        address.serve()

    assert ask(path)[0] == 200


def test_a_process_whose_address_is_taken_works_on_without(path: str) -> None:
    mine = address._listening.pop()

    with override_settings(METRICS_BIND=path.removesuffix(".web")), capture_logs() as logs:
        address.begin("web")

    assert [entry["event"] for entry in logs] == ["metrics_not_served"]
    assert not metrics.is_on()
    mine.close()


def test_socket_and_files_are_gone_at_the_end(path: str, tmp_path: Path) -> None:
    address.end()

    assert list(tmp_path.iterdir()) == []
