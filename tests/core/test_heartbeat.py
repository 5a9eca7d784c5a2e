"""A process writes down that it lives, and which key ring it holds."""

import itertools
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone
from psycopg import Connection
from structlog.testing import capture_logs

from core import heartbeat, keyring
from core.models import Process

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

# A hang is ended after this.
PATIENCE_SECONDS = 30
NOBODY_LISTENS = {"HOST": "127.0.0.1", "PORT": "1", "OPTIONS": {"connect_timeout": 3}}


@pytest.fixture(autouse=True)
def _this_process_ends() -> Iterator[None]:
    yield
    heartbeat.end()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("BEAT_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(heartbeat, pause, 0.01)


def await_that(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def seen_at() -> Any:
    return Process.objects.values_list("seen_at", flat=True).first()


def test_a_process_writes_down_its_ring_and_goes_without_a_trace() -> None:
    heartbeat.write_down("sender")

    [row] = Process.objects.all()
    ring = keyring.ring()
    assert (row.kind, row.primary_key_id, row.key_ids) == (
        *("sender", ring.primary), sorted(ring.held),
    )  # fmt: skip
    assert (row.host, row.release) == (socket.gethostname(), settings.RELEASE)
    heartbeat.end()
    assert not Process.objects.exists()


def test_a_process_goes_on_beating_under_its_first_row(hasty: None) -> None:
    heartbeat.write_down("worker")
    [first] = Process.objects.all()

    heartbeat.begin()

    for _ in range(3):
        before = seen_at()
        await_that(lambda: seen_at() > before)  # noqa: B023
    [row] = Process.objects.all()
    assert (row.id, row.started_at) == (first.id, first.started_at)


def test_a_row_that_others_have_deleted_is_written_again(hasty: None) -> None:
    heartbeat.write_down("worker")
    [first] = Process.objects.all()
    heartbeat.begin()

    Process.objects.all().delete()

    await_that(Process.objects.exists)
    assert Process.objects.get().started_at == first.started_at


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Connection | None]:
    """The connections of this process's beats; None for one that could not be opened."""
    connections: list[Connection | None] = []
    connected = heartbeat._connected

    def noted() -> Connection:
        connections.append(None)
        connections[-1] = connected()
        return connections[-1]

    monkeypatch.setattr(heartbeat, "_connected", noted)
    return connections


def test_a_database_that_is_away_costs_beats_and_is_told_of_once(
    hasty: None, opened: list[Connection | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with capture_logs() as logs, monkeypatch.context() as away:
        for name, value in NOBODY_LISTENS.items():
            away.setitem(connection.settings_dict, name, value)
        assert heartbeat.write_down("web") == []
        heartbeat.begin()
        await_that(lambda: len(opened) > 3)
        assert set(opened) == {None}

    await_that(Process.objects.exists)
    assert [line["event"] for line in logs] == ["heartbeat_missed"]


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_not_the_databases_is_told_of_once(
    hours: int, hasty: None, opened: list[Connection | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with capture_logs() as logs, monkeypatch.context() as moved:
        moved.setattr(heartbeat, "now", lambda: timezone.now() + timedelta(hours=hours))
        heartbeat.write_down("sender")
        heartbeat.begin()
        await_that(lambda: len(opened) > 3)

    [line] = logs
    assert (line["event"], line["log_level"]) == ("clocks_differ", "error")
    assert line["database_ahead_seconds"] == pytest.approx(-hours * 3600, abs=PATIENCE_SECONDS)


def test_a_statement_that_takes_long_makes_no_clock_wrong(
    hasty: None, opened: list[Connection | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked an hour before the database's moment and answered an hour after it."""
    hours = itertools.cycle([-1, 1])
    with capture_logs() as logs, monkeypatch.context() as moved:
        moved.setattr(heartbeat, "now", lambda: timezone.now() + timedelta(hours=next(hours)))
        heartbeat.write_down("sender")
        heartbeat.begin()
        await_that(lambda: len(opened) > 3)

    assert logs == []


def test_no_fork_is_in_the_middle_of_a_beats_metric(
    hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child would inherit the lock of the metrics' library, and wait for it for ever."""
    held: list[bool] = []
    monkeypatch.setattr(
        heartbeat.WRONG_CLOCKS, "set", lambda _value: held.append(heartbeat._beating.locked())
    )

    heartbeat.write_down("worker")
    heartbeat.begin()
    await_that(lambda: len(held) > 2)
    heartbeat.end()

    assert set(held) == {True}


def test_a_beat_keeps_no_connection(hasty: None, opened: list[Connection | None]) -> None:
    heartbeat.write_down("web")
    assert [one.closed for one in opened if one] == [True]

    heartbeat.begin()
    await_that(lambda: len(opened) > 3)
    heartbeat.end()

    assert {one.closed for one in opened if one} == {True}


def test_rows_of_processes_that_ended_long_ago_are_forgotten() -> None:
    for days in (6, 8):
        Process.objects.create(
            id=f"proc_{days}", kind="web", host="pay-2", release="1", key_ids=["k"],
            primary_key_id="k", started_at=timezone.now(), seen_at=Now() - timedelta(days=days),
        )  # fmt: skip

    heartbeat.write_down("beat")

    assert [row.id for row in Process.objects.filter(host="pay-2")] == ["proc_6"]


def test_a_ring_that_does_not_go_with_a_living_ones_is_told_of_once(hasty: None) -> None:
    heartbeat.write_down("worker")

    with capture_logs() as logs:
        heartbeat.begin()
        Process.objects.create(
            id="proc_2", kind="web", host="pay-2", release="1", key_ids=["k_newer"],
            primary_key_id="k_newer", started_at=timezone.now(), seen_at=Now(),
        )  # fmt: skip
        await_that(lambda: logs)
        before = Process.objects.get(kind="worker").seen_at
        await_that(lambda: Process.objects.get(kind="worker").seen_at > before)

    [told] = logs
    assert (told["event"], told["at_host"], told["they_seal_with"]) == (
        *("key_rings_differ", "pay-2", "k_newer"),
    )  # fmt: skip
