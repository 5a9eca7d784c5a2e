"""The circuit around something that may be away."""

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError, Event, Lock
from typing import Any

import pytest

from core.circuit import Circuit, CircuitOpen

OPEN_SECONDS = 0.1


class Broken(Exception):
    """The failure that the circuit counts; no other exception opens it."""


@pytest.fixture
def circuit() -> Circuit:
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


def test_a_probe_that_succeeds_closes_it(circuit: Circuit) -> None:
    opened(circuit)
    time.sleep(OPEN_SECONDS)

    assert [answer_of(circuit, lambda: "lit") for _ in range(3)] == ["lit"] * 3


def test_a_probe_that_fails_leaves_it_open(circuit: Circuit) -> None:
    opened(circuit)
    time.sleep(OPEN_SECONDS)

    assert [answer_of(circuit, fail) for _ in range(3)] == [Broken, CircuitOpen, CircuitOpen]


def test_one_probe_goes_and_the_others_do_not_wait_for_it(circuit: Circuit) -> None:
    opened(circuit)
    time.sleep(OPEN_SECONDS)
    probing, answered = Event(), Event()

    def probe() -> str:
        probing.set()
        answered.wait(5)
        return "lit"

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(answer_of, circuit, probe)
        probing.wait(5)
        others = [answer_of(circuit, lambda: "lit") for _ in range(3)]
        answered.set()

    assert others == [CircuitOpen] * 3
    assert result.result() == answer_of(circuit, lambda: "lit") == "lit"


def test_a_probe_that_never_reports_back_is_followed_by_another(circuit: Circuit) -> None:
    opened(circuit)
    for _ in range(2):
        time.sleep(OPEN_SECONDS)
        with pytest.raises(KeyboardInterrupt):
            circuit.call(_interrupted)
    time.sleep(OPEN_SECONDS)

    assert answer_of(circuit, lambda: "lit") == "lit"


def _interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("late", ["lit", None])
def test_what_began_before_it_opened_decides_no_more(circuit: Circuit, late: str | None) -> None:
    begun, over = Event(), Event()

    def slow() -> str | None:
        begun.set()
        over.wait(5)
        return late if late else fail()

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(answer_of, circuit, slow)
        begun.wait(5)
        opened(circuit)
        over.set()
        assert result.result() == (late or Broken)

    assert answer_of(circuit, lambda: "lit") is CircuitOpen


def test_one_line_is_logged_when_it_opens_and_one_when_it_closes(
    circuit: Circuit, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        answer_of(circuit, fail)
    time.sleep(OPEN_SECONDS)
    answer_of(circuit, fail)
    assert re.findall(r"circuit_\w+", caplog.text) == ["circuit_opened"]
    assert "Broken" in caplog.text
    time.sleep(OPEN_SECONDS)
    answer_of(circuit, lambda: "lit")

    assert re.findall(r"circuit_\w+", caplog.text) == ["circuit_opened", "circuit_closed"]


# --- Beside each other -------------------------------------------------------------------


def assert_beside_each_other(
    call: Callable[[Callable[[], Any]], None], *, hang_seconds: float = 30
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
