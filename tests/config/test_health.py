"""Health: what a load balancer and a supervisor are told, within a second, whatever hangs."""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from django.db import connection
from django.test import Client
from psycopg import connect
from redis import Redis
from redis.exceptions import RedisError

from config import health
from core import keyring
from core.keyring.sealing import SealBroken
from devstack.servers import Servers
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

WITHIN_SECONDS = 1.0
PATIENCE_SECONDS = health.PATIENCE_SECONDS
OK = dict.fromkeys(("key_ring", "redis", "database", "migrations"), "ok")
READY_ADDRESSES = ("/readyz", "/healthz")


@pytest.fixture(autouse=True)
def _looks_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    health._readiness.cache_clear()
    # A busy machine is no database that hangs.
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 30.0)


def ready(path: str = "/readyz") -> tuple[int, dict[str, Any]]:
    answer = Client().get(path)
    body = answer.json()
    assert body["status"] == ("ok" if answer.status_code == 200 else "unavailable")
    return answer.status_code, body["checks"]


@pytest.mark.parametrize("path", READY_ADDRESSES)
def test_a_process_that_can_serve_is_ready(path: str) -> None:
    assert ready(path) == (200, OK)


def test_life_asks_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(health, "_ask_all", fail)

    assert Client().get("/livez").json() == {"status": "ok"}


# --- Parts that fail --------------------------------------------------------------------------


@pytest.fixture
def sessions_with() -> Iterator[Callable[[str], None]]:
    """Let each new session of the test's database have a setting, as an operator does."""
    name = connection.settings_dict["NAME"]

    def have(setting: str) -> None:
        _as_superuser(f'ALTER DATABASE "{name}" SET {setting}')

    yield have
    _as_superuser(f'ALTER DATABASE "{name}" RESET ALL')


def _as_superuser(statement: str) -> None:
    params = connection.get_connection_params()
    with connect(**{**params, "user": "postgres", "dbname": "postgres"}, autocommit=True) as raw:
        raw.execute(statement)


def test_a_database_that_only_reads_is_not_ready(sessions_with: Any) -> None:
    sessions_with("default_transaction_read_only = on")

    assert ready() == (503, {**OK, "database": "read_only"})


def test_a_database_without_room_is_not_ready(sessions_with: Any) -> None:
    sessions_with("temp_file_limit = 0")

    assert ready() == (503, {**OK, "database": "full"})


def test_a_migration_that_is_not_applied_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    more = health.own_migrations() | {("core", "9999_of_the_next_version")}
    monkeypatch.setattr(health, "own_migrations", lambda: more)

    assert ready() == (503, {**OK, "migrations": "not_applied"})


def test_migrations_of_the_next_version_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = health.own_migrations() - {max(health.own_migrations())}
    monkeypatch.setattr(health, "own_migrations", lambda: fewer)

    assert ready() == (200, OK)


def test_a_key_ring_that_does_not_open_what_it_seals_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise SealBroken

    monkeypatch.setattr(type(keyring.ring()), "verify", broken)

    assert ready() == (503, {**OK, "key_ring": "broken"})


def test_redis_is_shown_and_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_redis: Redis) -> None:
        raise RedisError

    monkeypatch.setattr(Redis, "ping", away)

    assert ready() == (200, {**OK, "redis": "away"})


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that lets connect and says nothing, as a frozen one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_database_that_does_not_answer_is_not_waited_for(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    _database_at(listener.getsockname()[1], monkeypatch)
    asked_at = time.monotonic()

    found = [ready() for _ in range(10)]

    assert found == [(503, {**OK, "database": "no_answer", "migrations": "no_answer"})] * 10
    # The first waits, and those behind it have waited with it.
    assert time.monotonic() - asked_at < 2 * WITHIN_SECONDS
    # Those who come meanwhile share the look.
    listener.settimeout(1)
    listener.accept()[0].close()
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_slow_look_is_shared_by_those_who_waited_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, looks = [1000.0], []

    def slow() -> dict[str, str]:
        looks.append("begun")
        clock[0] += PATIENCE_SECONDS - 0.1
        return {"database": "ok", "migrations": "ok"}

    monkeypatch.setattr(health, "_database", slow)
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    assert [ready() for _ in range(3)] == [(200, OK)] * 3
    assert len(looks) == 1


def test_a_database_that_is_away_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    _database_at(port, monkeypatch)

    status, checks = ready()

    assert (status, checks["database"]) == (503, "away")


def _database_at(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    monkeypatch.setitem(connection.settings_dict, "PORT", str(port))


# --- In a process -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_frozen_database_is_told_and_forgotten_by_itself(
    own_servers: Servers, own_settings: dict[str, str], tmp_path: Path
) -> None:
    web = WebProcess(tmp_path / "log", **own_settings)
    try:
        _await_ready(web)
        _signal_all(own_servers, signal.SIGSTOP)
        frozen_at = time.monotonic()
        while _status(web, "readyz") == 200:
            assert time.monotonic() - frozen_at < 2.0
        assert _status(web, "livez") == 200
    finally:
        _signal_all(own_servers, signal.SIGCONT)
        _await_ready(web)
        web.stop()


@pytest.mark.slow
def test_with_a_frozen_database_each_of_many_looks_is_answered_in_time(
    own_servers: Servers, own_settings: dict[str, str], tmp_path: Path
) -> None:
    asked = ["readyz", "healthz"] * 5 + ["livez"]
    web = WebProcess(tmp_path / "log", **own_settings, WEB_WORKERS="1")
    try:
        _await_ready(web)
        overhead = max(took for _status, took in _at_once(web, asked))
        _signal_all(own_servers, signal.SIGSTOP)
        while _status(web, "readyz") == 200:
            pass
        found = [_at_once(web, asked) for _ in range(3)]
    finally:
        _signal_all(own_servers, signal.SIGCONT)
        _await_ready(web)
        web.stop()

    for answers in found:
        assert [status for status, _took in answers] == [503] * 10 + [200]
        assert max(took for _status, took in answers) < WITHIN_SECONDS + overhead


@pytest.mark.slow
@pytest.mark.every_case("each configuration of gunicorn has functions of its own")
@pytest.mark.parametrize("runs", ["config", "testbank"])
def test_sighup_reloads_nothing_and_says_so(runs: str, tmp_path: Path) -> None:
    ours = {"config": f"{runs}/gunicorn.py", "BANK_BIND": "127.0.0.1:0"}
    server = WebProcess(tmp_path / "log", f"{runs}.wsgi", **ours)
    try:
        _status(server, "livez")  # Its worker has begun.
        before = _workers(server)
        for worker in server.workers():  # As to a whole group of processes.
            worker.send_signal(signal.SIGHUP)
        server.wait_for("(reload_refused|was sent SIGHUP)")
        server.signal(signal.SIGHUP)
        server.wait_for(r"(reload_refused[\s\S]*reload_refused|was sent SIGHUP|Hang up)")

        _status(server, "livez")
        assert _workers(server) == before
        assert server.log.count("Booting worker") == 1
    finally:
        server.stop()


def _status(web: WebProcess, path: str) -> int:
    return web.send(f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()).status


def _at_once(web: WebProcess, paths: list[str]) -> list[tuple[int, float]]:
    """Ask for all at the same moment; return status and seconds of each."""
    begin = Barrier(len(paths))

    def ask(path: str) -> tuple[int, float]:
        begin.wait()
        asked_at = time.monotonic()
        return _status(web, path), time.monotonic() - asked_at

    with ThreadPoolExecutor(len(paths)) as clients:
        return list(clients.map(ask, paths))


def _await_ready(web: WebProcess) -> None:
    ends_at = time.monotonic() + 60
    while _status(web, "readyz") != 200:
        assert time.monotonic() < ends_at


def _workers(web: WebProcess) -> list[int]:
    return sorted(worker.pid for worker in web.workers())


def _signal_all(servers: Servers, number: int) -> None:
    """Send a signal to the server and each of its sessions."""
    postgres = servers.processes["postgres"]
    for process in [*psutil.Process(postgres.pid).children(), postgres]:
        process.send_signal(number)
