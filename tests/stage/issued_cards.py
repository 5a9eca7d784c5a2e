"""Cards that the sandbox's bank does not issue otherwise: hundreds of them, all treated alike."""

from collections.abc import Iterator
from itertools import count

import pytest

from acquirers.sandbox import cards
from core.cards import luhn_valid
from testbank import behaviours
from testbank.behaviours import Behaviour

PREFIX = "55287900"  # A Turkish credit card's.


def issued(patch: pytest.MonkeyPatch, behaviour: Behaviour, kind: str) -> Iterator[str]:
    """Let the bank issue one card after the other.

    :param kind: a digit, of these cards alone.
    """
    for turn in count(1):
        begun = f"{PREFIX}{kind}{turn:06}"
        number = next(one for last in range(10) if luhn_valid(one := f"{begun}{last}"))
        patch.setattr(cards, "NUMBERS", cards.NUMBERS | {number})
        patch.setitem(behaviours.CARDS, number, behaviour)
        yield number


def in_turns(patch: pytest.MonkeyPatch, total: int, *, declined: int) -> list[str]:
    """Return so many cards, of which `declined` of each hundred are declined."""
    good = issued(patch, behaviours.APPROVE, "1")
    bad = issued(patch, behaviours.INSUFFICIENT_FUNDS, "2")
    return [next(bad if turn * declined % 100 < declined else good) for turn in range(total)]
