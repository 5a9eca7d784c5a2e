"""A restored copy knows that it is one: the database's place, and the mark in beat's file."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils import timezone
from psycopg import Connection
from structlog.testing import capture_logs

from core import heartbeat, installation, marks
from core.models import Installation, Mark

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_is_known_afterwards() -> Iterator[None]:
    yield
    heartbeat.end()
    installation._known[0] = None


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
    marks.keep(raw)
    first = number_in(file)

    marks.keep(raw)

    assert number_in(file) != first
    assert set(Mark.objects.values_list("number", flat=True)) == {first, number_in(file)}
    assert not installation.is_held()
    assert not list(file.parent.glob("*.new"))


def test_a_database_that_is_older_than_the_file_is_held_and_stays_so(
    file: Path, raw: Connection
) -> None:
    marks.keep(raw)
    marks.keep(raw)
    restore_to_before_the_last_mark()

    marks.keep(raw)
    marks.keep(raw)  # Restarting beat opens nothing.

    assert installation.is_held()
    assert Installation.objects.get().held_reason == marks.YOUNGER


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"number": 1'])
def test_a_missing_or_broken_file_holds_a_database_that_has_marks(
    content: str | None, file: Path, raw: Connection
) -> None:
    marks.keep(raw)
    file.unlink() if content is None else file.write_text(content)

    marks.keep(raw)

    assert Installation.objects.get().held_reason == marks.NO_FILE


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
    marks.keep(raw)

    move_to(place)

    assert installation.is_held()
    with capture_logs() as logs:
        installation.hear(raw)
    assert [line["reason"] for line in logs] == [installation.MOVED]
    assert installation.known_to_be_held()


ANOTHER_TIMELINE = "regexp_replace(place, '/.{8}/', '/000000FF/')"


def let_commits_wait(monkeypatch: pytest.MonkeyPatch, *, do_wait: bool) -> None:
    monkeypatch.setattr(installation, "WAITS", str(do_wait))


@pytest.fixture
def synchronous(file: Path, raw: Connection, settings: Any, monkeypatch: Any) -> None:
    """An installation whose newest mark waited for a standby."""
    settings.SYNCHRONOUS_STANDBYS = True
    let_commits_wait(monkeypatch, do_wait=True)
    marks.keep(raw)
    assert not installation.is_held()


@pytest.mark.usefixtures("synchronous")
def test_with_synchronous_standbys_beat_opens_after_a_promotion(raw: Connection) -> None:
    place = Installation.objects.get().place
    move_to(ANOTHER_TIMELINE)
    assert installation.is_held()  # Only the file of beat's host can contradict.
    assert installation.reason_held() == installation.FOR_BEAT

    with capture_logs() as logs:
        marks.keep(raw)

    assert not installation.is_held()
    assert [line["event"] for line in logs] == ["standby_promoted"]
    assert Installation.objects.get().place == place


@pytest.mark.usefixtures("synchronous")
@pytest.mark.parametrize(
    "moved", ["'7' || place", "place || '7'"], ids=["another server", "another database"]
)
def test_with_synchronous_standbys_another_place_is_held(moved: str, raw: Connection) -> None:
    move_to(moved)

    marks.keep(raw)

    assert installation.reason_held() == installation.MOVED


@pytest.mark.usefixtures("synchronous")
@pytest.mark.parametrize("age_seconds", [360, -3600], ids=["later", "clock an hour behind"])
def test_a_promotion_five_minutes_from_the_newest_mark_is_held(
    age_seconds: int, raw: Connection
) -> None:
    """A recovery to a moment looks the same, and any mark looks young by a clock that is behind."""
    Mark.objects.update(made_at=timezone.now() - timedelta(seconds=age_seconds))
    move_to(ANOTHER_TIMELINE)

    marks.keep(raw)

    assert installation.reason_held() == installation.MOVED


@pytest.mark.usefixtures("synchronous")
def test_a_promoted_standby_that_lacks_the_newest_mark_is_held(raw: Connection) -> None:
    marks.keep(raw)
    restore_to_before_the_last_mark()
    move_to(ANOTHER_TIMELINE)
    assert installation.is_held()

    marks.keep(raw)

    assert Installation.objects.get().held_reason == marks.YOUNGER


@pytest.mark.usefixtures("synchronous")
def test_a_server_that_stops_waiting_changes_nothing_until_that_is_written_down(
    raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_commits_wait(monkeypatch, do_wait=False)
    assert installation.reason_held() == installation.FOR_BEAT

    marks.keep(raw)

    assert not installation.is_held()
    move_to(ANOTHER_TIMELINE)
    marks.keep(raw)
    assert installation.reason_held() == installation.MOVED


def die_in_a_mark(raw: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit a mark whose number the file has only as the one that is being made."""
    write: Callable[..., None] = marks._write
    written: list[marks.Mark] = []

    def dies(path: Path, mark: marks.Mark) -> None:
        written.append(mark)
        if len(written) == 2:
            raise ImproperlyConfigured
        write(path, mark)

    with monkeypatch.context() as patched:
        patched.setattr(marks, "_write", dies)
        with pytest.raises(ImproperlyConfigured):
            marks.keep(raw)


def promote_a_standby_that_has(waited: set[str]) -> None:
    """Let the database be as it was with these marks, on another timeline."""
    Mark.objects.exclude(number__in=waited).delete()
    Installation.objects.update(is_waited_for=True)
    move_to(ANOTHER_TIMELINE)


@pytest.mark.usefixtures("synchronous")
@pytest.mark.parametrize("more_deaths", [0, 1])
def test_a_beat_that_dies_as_it_writes_down_the_end_of_waiting_opens_no_promoted_standby(
    more_deaths: int, raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on alone; its standby has the mark before, which the file has, too."""
    waited = set(Mark.objects.values_list("number", flat=True))
    let_commits_wait(monkeypatch, do_wait=False)
    die_in_a_mark(raw, monkeypatch)
    assert not installation.is_held()
    let_commits_wait(monkeypatch, do_wait=True)
    for _ in range(more_deaths):
        die_in_a_mark(raw, monkeypatch)

    promote_a_standby_that_has(waited)
    marks.keep(raw)

    assert Installation.objects.get().held_reason == marks.YOUNGER


@pytest.mark.usefixtures("synchronous")
def test_a_mark_that_was_under_way_while_commits_waited_does_not_hold_a_promoted_standby(
    raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = set(Mark.objects.values_list("number", flat=True))
    die_in_a_mark(raw, monkeypatch)

    promote_a_standby_that_has(waited)
    marks.keep(raw)

    assert not installation.is_held()


@pytest.mark.usefixtures("synchronous")
def test_a_second_beat_takes_the_end_of_waiting_into_its_own_file_at_its_next_look(
    raw: Connection, monkeypatch: pytest.MonkeyPatch, settings: Any, file: Path
) -> None:
    """Its file has to be younger, too, if the first one's host is lost with the server."""
    first, second = file, file.with_name("second")
    second.write_bytes(first.read_bytes())
    settings.MARK_FILE = second
    beat = heartbeat.Heartbeat("beat")
    beat._look_at_installation(raw)
    waited = set(Mark.objects.values_list("number", flat=True))
    let_commits_wait(monkeypatch, do_wait=False)
    settings.MARK_FILE = first
    marks.keep(raw)
    settings.MARK_FILE = second
    beat._look_at_installation(raw)

    promote_a_standby_that_has(waited)
    marks.keep(raw)

    assert Installation.objects.get().held_reason == marks.YOUNGER


@pytest.mark.usefixtures("synchronous")
def test_beat_looks_at_once_and_each_process_logs_what_it_waits_for(
    raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat = heartbeat.Heartbeat("beat")
    beat.beat()
    let_commits_wait(monkeypatch, do_wait=False)
    with capture_logs() as logs:
        installation.hear(raw)
        waited = installation.waits_for_beat(), installation.known_to_be_held()
        beat.beat()

    assert waited == (True, True)
    assert not installation.known_to_be_held()
    assert [one["event"] for one in logs if one["event"].startswith("installation")] == [
        "installation_waits_for_beat", "installation_opened"
    ]  # fmt: skip
    beat.end()


def test_without_the_setting_no_mark_says_that_commits_wait(
    file: Path, raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_commits_wait(monkeypatch, do_wait=True)

    marks.keep(raw)

    assert not Installation.objects.get().is_waited_for


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_beat_that_died_in_the_middle_of_a_mark_holds_nothing(
    is_committed: bool, file: Path, raw: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks.keep(raw)
    write: Callable[..., None] = marks._write
    written: list[marks.Mark] = []

    def dies(path: Path, mark: marks.Mark) -> None:
        written.append(mark)
        if len(written) == (2 if is_committed else 1):
            if not is_committed:
                write(path, mark)
            raise ImproperlyConfigured
        write(path, mark)

    monkeypatch.setattr(marks, "_write", dies)
    with pytest.raises(ImproperlyConfigured):
        marks.keep(raw)
    monkeypatch.undo()

    marks.keep(raw)

    assert not installation.is_held()


def test_a_web_process_beside_the_file_holds_an_older_database(file: Path, raw: Connection) -> None:
    marks.keep(raw)
    marks.keep(raw)
    restore_to_before_the_last_mark()

    heartbeat.write_down("web")

    assert installation.known_to_be_held()


def test_a_host_without_the_file_runs_other_processes(file: Path, raw: Connection) -> None:
    marks.keep(raw)
    file.unlink()

    heartbeat.write_down("web")

    assert not installation.known_to_be_held()
    assert not installation.is_held()


def test_beat_makes_a_mark_at_its_start_and_with_each_fourth_heartbeat(file: Path) -> None:
    beat = heartbeat.Heartbeat("beat")
    made = []
    for _ in range(2 * heartbeat.BEATS_OF_A_MARK):
        beat.beat()
        made.append(number_in(file))

    assert len(set(made)) == Mark.objects.count() == 2
    beat.end()


def test_beat_does_not_start_where_it_cannot_write_the_file(settings: Any, tmp_path: Path) -> None:
    settings.MARK_FILE = tmp_path / "missing" / "mark"

    with pytest.raises(ImproperlyConfigured, match="Cannot write the installation's mark to"):
        heartbeat.write_down("beat")


def test_an_empty_database_is_founded_where_there_is_no_file(file: Path, raw: Connection) -> None:
    marks.keep(raw)
    forget_installation()
    file.unlink()

    marks.keep(raw)

    assert not installation.is_held()


@pytest.mark.parametrize("is_founded", [False, True])
def test_a_file_of_another_installation_stops_beat_and_is_left_alone(
    is_founded: bool, file: Path, raw: Connection
) -> None:
    marks.keep(raw)
    written = file.read_text()
    forget_installation()
    if is_founded:
        installation.found(raw, "another one")

    with pytest.raises(ImproperlyConfigured, match="has the mark of another installation"):
        heartbeat.write_down("beat")
    heartbeat.write_down("web")  # It proves nothing about this one.

    assert file.read_text() == written
    assert not installation.is_held()
    assert not Mark.objects.exists()


def forget_installation() -> None:
    Installation.objects.all().delete()
    Mark.objects.all().delete()


def test_a_spare_beat_whose_mark_is_forgotten_holds_nothing(file: Path, raw: Connection) -> None:
    marks.keep(raw)
    spare, written = number_in(file), file.read_text()
    marks.keep(raw)
    Mark.objects.filter(number=spare).delete()
    file.write_text(written)

    marks.keep(raw)
    heartbeat.write_down("web")

    assert not installation.is_held()


def test_a_copy_of_a_held_copy_is_held_once_more(file: Path, raw: Connection) -> None:
    marks.keep(raw)
    move_to("place || '7'")
    marks.keep(raw)
    first = Installation.objects.get()
    marks.keep(raw)
    assert Installation.objects.get().held_at == first.held_at

    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_installation SET held_place = held_place || '7'")
    marks.keep(raw)

    assert Installation.objects.get().held_at > first.held_at


@pytest.mark.parametrize("other", [None, "web"])
def test_the_mark_of_beats_end_is_the_last_one_if_no_other_process_lives(
    other: str | None, file: Path, raw: Connection
) -> None:
    beat = heartbeat.Heartbeat("beat")
    beat.beat()
    assert not marks.proves_that_nothing_is_lost(raw)
    if other:
        heartbeat.write_down("web")

    beat.end()

    assert marks.proves_that_nothing_is_lost(raw) is (other is None)
    restore_to_before_the_last_mark()
    assert not marks.proves_that_nothing_is_lost(raw)
