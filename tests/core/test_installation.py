"""A restored copy knows that it is one: the database's place, and the mark in beat's file."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from psycopg import Connection
from structlog.testing import capture_logs

from core import heartbeat, installation
from core.models import Installation, Mark

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_is_known_afterwards() -> Iterator[None]:
    yield
    heartbeat.end()
    installation._known[0] = False


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    settings.MARK_FILE = tmp_path / "mark"
    return tmp_path / "mark"


@pytest.fixture
def raw() -> Iterator[Connection]:
    with closing(heartbeat._connected()) as raw:
        yield raw


def number_in(file: Path) -> str:
    return json.loads(file.read_text())["number"]


def restore_to_before_the_last_mark() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM core_mark WHERE made_at = (SELECT max(made_at) FROM core_mark)")


def move_to(place: str) -> None:
    """Let the database think that it was made elsewhere; its parts are server/timeline/database."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE core_installation SET place = {place}")  # noqa: S608


def test_the_first_beat_founds_an_installation_and_each_one_makes_a_mark(
    file: Path, raw: Connection
) -> None:
    installation.keep(raw)
    first = number_in(file)

    installation.keep(raw)

    assert number_in(file) != first
    assert set(Mark.objects.values_list("number", flat=True)) == {first, number_in(file)}
    assert not installation.is_held()
    assert not list(file.parent.glob("*.new"))


def test_a_database_that_is_older_than_the_file_is_held_and_stays_so(
    file: Path, raw: Connection
) -> None:
    installation.keep(raw)
    installation.keep(raw)
    restore_to_before_the_last_mark()

    installation.keep(raw)
    installation.keep(raw)  # Restarting beat opens nothing.

    assert installation.is_held()
    assert Installation.objects.get().held_reason == installation.YOUNGER


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"number": 1'])
def test_a_missing_or_broken_file_holds_a_database_that_has_marks(
    content: str | None, file: Path, raw: Connection
) -> None:
    installation.keep(raw)
    file.unlink() if content is None else file.write_text(content)

    installation.keep(raw)

    assert Installation.objects.get().held_reason == installation.NO_FILE


@pytest.mark.parametrize(
    "place",
    [
        "regexp_replace(place, '^.', '9') || '0'",
        "regexp_replace(place, '/.{8}/', '/000000FF/')",
        "place || '7'",
    ],
    ids=["another server", "another timeline", "another database"],
)
def test_a_database_at_another_place_is_held_from_its_first_statement(
    place: str, file: Path, raw: Connection
) -> None:
    installation.keep(raw)

    move_to(place)

    assert installation.is_held()
    with capture_logs() as logs:
        installation.hear(raw)
    assert [line["reason"] for line in logs] == [installation.MOVED]
    assert installation.known_to_be_held()


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_beat_that_died_in_the_middle_of_a_mark_holds_nothing(
    is_committed: bool, file: Path, raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.keep(raw)
    write: Callable[..., None] = installation._write
    written: list[installation.Mark] = []

    def dies(path: Path, mark: installation.Mark) -> None:
        written.append(mark)
        if len(written) == (2 if is_committed else 1):
            if not is_committed:
                write(path, mark)
            raise ImproperlyConfigured
        write(path, mark)

    monkeypatch.setattr(installation, "_write", dies)
    with pytest.raises(ImproperlyConfigured):
        installation.keep(raw)
    monkeypatch.undo()

    installation.keep(raw)

    assert not installation.is_held()


def test_a_web_process_beside_the_file_holds_an_older_database(file: Path, raw: Connection) -> None:
    installation.keep(raw)
    installation.keep(raw)
    restore_to_before_the_last_mark()

    heartbeat.write_down("web")

    assert installation.known_to_be_held()


def test_a_host_without_the_file_runs_other_processes(file: Path, raw: Connection) -> None:
    installation.keep(raw)
    file.unlink()

    heartbeat.write_down("web")

    assert not installation.known_to_be_held()
    assert not installation.is_held()


def test_beat_makes_a_mark_at_its_start_and_with_each_fourth_heartbeat(file: Path) -> None:
    beat = heartbeat.Heartbeat("beat")
    marks = []
    for _ in range(2 * heartbeat.BEATS_OF_A_MARK):
        beat.beat()
        marks.append(number_in(file))

    assert len(set(marks)) == Mark.objects.count() == 2
    beat.end()


def test_beat_does_not_start_where_it_cannot_write_the_file(settings: Any, tmp_path: Path) -> None:
    settings.MARK_FILE = tmp_path / "missing" / "mark"

    with pytest.raises(ImproperlyConfigured, match="Cannot write the installation's mark to"):
        heartbeat.write_down("beat")


def test_an_empty_database_is_founded_anew_whatever_the_file_says(
    file: Path, raw: Connection
) -> None:
    installation.keep(raw)
    Installation.objects.all().delete()
    Mark.objects.all().delete()

    installation.keep(raw)

    assert not installation.is_held()
