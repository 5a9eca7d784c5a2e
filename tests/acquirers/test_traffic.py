"""One line of the log a minute: how busy the process is with its acquirer."""

import threading
from typing import Any

import pytest
import structlog

from acquirers import slots
from core import traffic as module
from core.traffic import Traffic, traffic
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.kills import until

Lines = list[dict[str, Any]]


@pytest.fixture
def lines() -> Any:
    """The traffic's lines; what tests before this one did is in none of them."""
    traffic.tell()
    with structlog.testing.capture_logs() as logged:
        yield logged


def told(lines: Lines) -> dict[str, Any]:
    [line] = [line for line in lines if line["event"] == "acquirer_traffic"]
    return line


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_minute_tells_of_slots_answers_and_refusals_by_acquirer(
    acme: ApiClient, bank: BankTransport, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MERCHANT_WAITS_SECONDS", 0.01)
    acme.pay()
    with all_slots_taken():
        acme.pay()

    traffic.tell()

    [(name, counted)] = told(lines)["acquirers"].items()
    assert (name, counted["slots_in_use_max"], counted["asked"]) == (slots.ACQUIRERS, 1, 1)
    assert (counted["refused_by_slot"], counted["p50_ms"]) == (1, counted["p99_ms"])
    assert told(lines)["refused_by_age"] == 0


def test_the_banks_seconds_are_told_as_the_middle_and_nearly_the_worst(lines: Lines) -> None:
    minute = Traffic()
    for number in range(1, 201):
        minute.answered("bank", seconds=number / 100)
    for in_use in (3, 7, 5):
        minute.slot_taken("bank", in_use=in_use)

    minute.tell()

    told_of = told(lines)["acquirers"]["bank"]
    assert (told_of["asked"], told_of["p50_ms"], told_of["p99_ms"]) == (200, 1000, 1980)
    assert told_of["slots_in_use_max"] == 7


def test_each_minute_counts_anew(lines: Lines) -> None:
    minute = Traffic()
    minute.refused_by_age()
    minute.tell()
    lines.clear()
    minute.refused_by_slot("bank")

    minute.tell()

    assert told(lines)["refused_by_age"] == 0
    assert told(lines)["acquirers"]["bank"]["p99_ms"] is None


def test_the_line_comes_by_itself_and_only_after_something_happened(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MINUTE_SECONDS", 0.01)
    minute = Traffic()
    minute.refused_by_age()
    minute.refused_by_age()

    until(lambda: lines)

    assert told(lines)["refused_by_age"] == 2
    until(lambda: not any(isinstance(one, threading.Timer) for one in threading.enumerate()))
