"""References: every bank takes them, and none looks like a card number."""

import re
from itertools import chain, repeat
from typing import Any

import pytest

from acquirers import references
from core.detection import contains_card_number
from testbank.orders import read_reference


def test_a_reference_is_20_letters_and_digits_and_its_own() -> None:
    drawn = [references.new() for _ in range(2000)]

    assert len(set(drawn)) == len(drawn)
    assert all(re.fullmatch(r"[0-9A-Z]{20}", one) and read_reference(one) for one in drawn)
    assert not any(re.search(r"[0-9]{13}", one) or contains_card_number(one) for one in drawn)


def test_references_are_in_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn_at(milliseconds: int) -> str:
        monkeypatch.setattr(references.time, "time_ns", lambda: milliseconds * 1_000_000)
        return references.new()

    beginning, end = references.EPOCH_MILLISECONDS, references.EPOCH_MILLISECONDS + 36**8 - 1
    moments = [beginning, beginning + 1, 1_795_000_000_000, 1_795_000_000_001, end]

    drawn = [drawn_at(moment) for moment in moments]

    assert drawn == sorted(drawn)
    assert (drawn[0][:8], drawn[-1][:8]) == ("00000000", "ZZZZZZZZ")


def test_one_that_looks_like_a_card_number_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    digits: Any = chain(repeat("7", 12), repeat("A"))
    monkeypatch.setattr(references.secrets, "choice", lambda _alphabet: next(digits))
    beginning = references.EPOCH_MILLISECONDS * 1_000_000
    monkeypatch.setattr(references.time, "time_ns", lambda: beginning)

    assert references.new() == "00000000" + "A" * 12
