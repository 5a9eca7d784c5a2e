"""The circuit around something that may be away."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError, Event, Lock
from typing import Any

import pytest

from core.circuit import Circuit, CircuitOpen

OPEN_SECONDS = 2.0
# A hang is ended after this.
PATIENCE_SECONDS = 60


class Broken(Exception):
    """The failure that the circuit counts; no other exception opens it."""


class Clock:
    """Stands in for `time` in the circuit's module: it goes on when it is told."""

    def __init__(self) -> None:
        self._now = 1000.0

    def monotonic(self) -> float:
        return self._now

    def go_on(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ours = Clock()
    monkeypatch.setattr("core.circuit.time", ours)
    return ours


@pytest.fixture
def circuit(clock: Clock) -> Circuit:
    return Circuit("lamp", failure=Broken, times=3, seconds=OPEN_SECONDS)


def fail() -> None:
    raise Broken


def answer_of(circuit: Circuit, work: Callable[[], object]) -> object:
    """Return what the work returned, or the class of what was raised."""
    try:
        return circuit.call(work)
    except (Broken, CircuitOpen) as problem:
        return type(problem)


def opened(circuit: Circuit) -> Circuit:
    for _ in range(3):
        answer_of(circuit, fail)
    assert answer_of(circuit, lambda: "tried") is CircuitOpen
    return circuit


def test_after_three_failures_nothing_is_tried(circuit: Circuit) -> None:
    answers = [answer_of(circuit, fail) for _ in range(5)]

    assert answers == [Broken, Broken, Broken, CircuitOpen, CircuitOpen]


def test_only_failures_in_a_row_count(circuit: Circuit) -> None:
    for _ in range(3):
        assert [answer_of(circuit, fail) for _ in range(2)] == [Broken, Broken]
        assert answer_of(circuit, lambda: "lit") == "lit"


def test_other_exceptions_pass_and_say_nothing(circuit: Circuit) -> None:
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            circuit.call(lambda: 1 / 0)

    assert answer_of(circuit, lambda: "lit") == "lit"


def test_a_probe_that_succeeds_closes_it(circuit: Circuit, clock: Clock) -> None:
    opened(circuit)
    clock.go_on(OPEN_SECONDS)

    assert [answer_of(circuit, lambda: "lit") for _ in range(3)] == ["lit"] * 3


def test_no_probe_goes_before_its_time(circuit: Circuit, clock: Clock) -> None:
    opened(circuit)
    clock.go_on(0.99 * OPEN_SECONDS)

    assert answer_of(circuit, lambda: "lit") is CircuitOpen


def test_a_probe_that_fails_leaves_it_open(circuit: Circuit, clock: Clock) -> None:
    opened(circuit)
    clock.go_on(OPEN_SECONDS)

    assert [answer_of(circuit, fail) for _ in range(3)] == [Broken, CircuitOpen, CircuitOpen]


def test_one_probe_goes_and_the_others_do_not_wait_for_it(circuit: Circuit, clock: Clock) -> None:
    opened(circuit)
    clock.go_on(OPEN_SECONDS)
    probing, answered = Event(), Event()

    def probe() -> str:
        probing.set()
        answered.wait(PATIENCE_SECONDS)
        return "lit"

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(answer_of, circuit, probe)
        probing.wait(PATIENCE_SECONDS)
        others = [answer_of(circuit, lambda: "lit") for _ in range(3)]
        answered.set()

    assert others == [CircuitOpen] * 3
    assert result.result() == answer_of(circuit, lambda: "lit") == "lit"


def test_a_probe_that_never_reports_back_is_followed_by_another(
    circuit: Circuit, clock: Clock
) -> None:
    opened(circuit)
    for _ in range(2):
        clock.go_on(OPEN_SECONDS)
        with pytest.raises(KeyboardInterrupt):
            circuit.call(_interrupted)
    clock.go_on(OPEN_SECONDS)

    assert answer_of(circuit, lambda: "lit") == "lit"


def _interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("late", ["lit", None])
def test_what_began_before_it_opened_decides_no_more(circuit: Circuit, late: str | None) -> None:
    begun, over = Event(), Event()

    def slow() -> str | None:
        begun.set()
        over.wait(PATIENCE_SECONDS)
        return late if late else fail()

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(answer_of, circuit, slow)
        begun.wait(PATIENCE_SECONDS)
        opened(circuit)
        over.set()
        assert result.result() == (late or Broken)

    assert answer_of(circuit, lambda: "lit") is CircuitOpen


def test_one_line_is_logged_when_it_opens_and_one_when_it_closes(
    circuit: Circuit, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        answer_of(circuit, fail)
    clock.go_on(OPEN_SECONDS)
    answer_of(circuit, fail)
    assert re.findall(r"circuit_\w+", caplog.text) == ["circuit_opened"]
    assert "Broken" in caplog.text
    clock.go_on(OPEN_SECONDS)
    answer_of(circuit, lambda: "lit")

    assert re.findall(r"circuit_\w+", caplog.text) == ["circuit_opened", "circuit_closed"]


# --- Beside each other -------------------------------------------------------------------


def assert_beside_each_other(
    call: Callable[[Callable[[], Any]], None], *, hang_seconds: float = PATIENCE_SECONDS
) -> None:
    """Eight threads work at the same time: none ends before all have begun."""
    all_work = Barrier(8)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _number: call(lambda: all_work.wait(hang_seconds)), range(8)))


def test_no_thread_waits_for_another_ones_call(circuit: Circuit) -> None:
    assert_beside_each_other(circuit.call)


def test_the_check_sees_a_lock_around_the_call(circuit: Circuit) -> None:
    lock = Lock()

    def locked(work: Callable[[], Any]) -> None:
        with lock:
            circuit.call(work)

    with pytest.raises(BrokenBarrierError):
        assert_beside_each_other(locked, hang_seconds=0.5)
