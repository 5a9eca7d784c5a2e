"""Files of counts: several processes are added up, and what a dead one has counted stays."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from core import metrics
from core.metrics import Counter, Gauge, Label, files
from core.metrics.files import Files
from tests.stage import scrapes
from tests.stage.scrapes import counting, value
from tests.stage.threads import together

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

DONE = Counter("test_done_total", "Of these tests.", who=Label("child", "parent"))
HELD = Gauge("test_held", "Of these tests.")


@pytest.fixture(autouse=True)
def _on(tmp_path: Path) -> Iterator[None]:
    with counting(tmp_path):
        yield


def forked(work: Callable[[], None], *, then: int | None = None) -> None:
    """Do work in a child, which then exits or kills itself by a signal."""
    child = os.fork()
    if child == 0:
        work()
        if then:
            os.kill(os.getpid(), then)
        os._exit(0)
    os.waitpid(child, 0)


def done() -> float:
    return value(scrapes.own(), "test_done_total")


def counts(number: int) -> Callable[[], None]:
    return lambda: [DONE.count("child") for _ in range(number)] and None


def test_the_counts_of_parent_and_children_are_added_up() -> None:
    DONE.count("parent")
    for _ in range(3):
        forked(counts(5))

    assert done() == 16


@pytest.mark.parametrize("ended_by", [None, signal.SIGKILL])
def test_a_process_goes_on_from_the_counts_of_one_that_has_ended(
    ended_by: int | None, tmp_path: Path
) -> None:
    DONE.count("parent")
    for _ in range(4):
        forked(counts(2), then=ended_by)

    assert done() == 9
    assert sorted(path.name for path in tmp_path.glob("counter_*")) == [
        "counter_0.db",
        "counter_1.db",
    ]


def test_a_dead_process_holds_nothing_any_more() -> None:
    HELD.set(2)
    forked(lambda: HELD.set(5), then=signal.SIGKILL)

    assert value(scrapes.own(), "test_held") == 2


def test_a_living_process_holds_what_it_says() -> None:
    HELD.set(2)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        HELD.set(5)
        os.write(writing, b"set")
        time.sleep(600)
    os.read(reading, 3)

    assert value(scrapes.own(), "test_held") == 7

    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert value(scrapes.own(), "test_held") == 2


def test_counts_have_their_place_on_the_disk_before_they_are_written(tmp_path: Path) -> None:
    DONE.count("parent")

    assert (tmp_path / "counter_0.db").stat().st_blocks * 512 >= files.FILE_BYTES


def test_directories_of_ended_processes_are_deleted_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    living = files.new("web")
    foreign = tmp_path / f"{files.PREFIX}foreign"
    foreign.mkdir()
    forked(lambda: files.new("worker") and None, then=signal.SIGKILL)
    assert len(list(tmp_path.glob("pay-metrics-worker-*"))) == 1

    files.new("beat").remove()

    assert living.directory.exists()
    assert foreign.exists()
    assert list(tmp_path.glob("pay-metrics-worker-*")) == []
    living.remove()


def test_series_of_few_labels_are_there_before_they_move(tmp_path: Path) -> None:
    metrics.prepare()

    found = scrapes.own()
    assert {dict(one.labels)["who"] for one in found if one.name == "test_done_total"} == {
        "child",
        "parent",
    }


def test_a_full_disk_is_met_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "posix_fallocate", full)

    with pytest.raises(OSError, match="No space"):
        Files(tmp_path / ".").number()


@pytest.mark.parametrize("fault", [OSError("full"), ValueError("of the library")])
def test_work_goes_on_if_a_count_cannot_be_written(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_found: tuple[str, ...]) -> None:
        raise fault

    monkeypatch.setattr(DONE, "series", fail)

    with capture_logs() as logged:
        DONE.count("parent")

    assert [line["event"] for line in logged] == ["metrics_lost"]
    assert not metrics.is_on()


def test_threads_that_count_first_at_once_share_one_series(monkeypatch: pytest.MonkeyPatch) -> None:
    make, made, second_came = DONE.kind, [], threading.Event()

    def slowly(*given: Any, **options: Any) -> Any:
        made.append(given)
        if len(made) > 1:
            second_came.set()
        second_came.wait(0.3)  # Only a fault ends it sooner.
        return make(*given, **options)

    monkeypatch.setattr(DONE, "kind", slowly)
    together([lambda: DONE.count("parent")] * 2)

    assert len(made) == 1
    assert done() == 2
