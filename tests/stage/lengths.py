"""How long each proof goes: short in every gate, full when `./dev prove` runs it.

A proof names both lengths beside each other, draws from one seed, and counts what it tried.
"""

import json
import os
import random
from collections.abc import Iterable, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeVar

import pytest

from devstack.prove import PARTS

IS_FULL = os.environ.get("PROVE") == "full"
# The gate draws the same every time; `./dev prove` draws anew, and prints its seed.
SEED = int(os.environ.get("PROVE_SEED", "7"))
TRIED_FILE = os.environ.get("PROVE_TRIED")
FILES_FILE = os.environ.get("PROVE_FILES")

# A busy machine takes many times as long as a quiet one: only what hangs is ended.
LONG_MARKS = ("slow", "proof", "browser")
LONG_SECONDS = 600

# Of tests that the gate leaves out.
in_prove_only = pytest.mark.skipif(not IS_FULL, reason="./dev prove plays it")

Length = TypeVar("Length")


def length(*, short: Length, full: Length) -> Length:
    """Return the length that this run asks for."""
    return full if IS_FULL else short


def each_met(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all combinations of what is listed; at the short length each is in one at least."""
    rounds = range(max(map(len, axes)))
    once = [tuple(axis[turn % len(axis)] for axis in axes) for turn in rounds]
    return length(short=once, full=list(product(*axes)))


def one_of_all(*axes: Iterable[Any], short: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return all combinations of what is listed; at the short length the given one alone."""
    return length(short=[short], full=list(product(*axes)))


def chance(*place: object) -> random.Random:
    """Return draws of their own for a place in a proof; the same seed draws the same."""
    return random.Random(f"{SEED} {place}")  # noqa: S311


def require_parts(items: Iterable[pytest.Item]) -> None:
    """:raises UsageError: a proof names no part of `./dev prove`, which would never run it."""
    for item in items:
        for mark in item.iter_markers("proof"):
            if mark.kwargs.get("part") not in PARTS:
                raise pytest.UsageError(f"{item.nodeid}: name a part: {', '.join(PARTS)}")


def write_files(items: Iterable[pytest.Item]) -> None:
    """Write down for `./dev prove` which files have proofs of each part."""
    if not FILES_FILE:
        return
    files: dict[str, set[str]] = {part: set() for part in PARTS}
    for item in items:
        for mark in item.iter_markers("proof"):
            files[mark.kwargs["part"]].add(item.nodeid.partition("::")[0])
    Path(FILES_FILE).write_text(json.dumps({part: sorted(of) for part, of in files.items()}))


def give_time(items: Iterable[pytest.Item]) -> None:
    """Let every test that starts processes take ten minutes, or longer where it says so."""
    for item in items:
        if any(item.get_closest_marker(name) for name in LONG_MARKS):
            own = item.get_closest_marker("timeout")
            seconds = max([LONG_SECONDS, *(own.args if own else ())])
            item.add_marker(pytest.mark.timeout(seconds), append=False)


def longest_first(items: list[pytest.Item], *, workers: int) -> None:
    """Let the proofs begin first that have the most time: none of them goes on alone at the end.

    Each worker has its next test beside the one that it runs, and keeps it: a short one at first.
    """
    if not IS_FULL or len(items) < 3 * workers:
        return
    items.sort(key=_seconds_given, reverse=True)
    first, rest, shortest = items[:workers], items[workers:-workers], items[-workers:]
    items[:] = [*chain.from_iterable(zip(first, shortest, strict=True)), *rest]


def _seconds_given(item: pytest.Item) -> float:
    given = item.get_closest_marker("timeout")
    return given.args[0] if given else 0


def tried(count: int, noun: str) -> None:
    """Print how much a proof tried, and let `./dev prove` count it; nothing tried fails."""
    print(f"\ntried {count} {noun} with seed {SEED}")  # noqa: T201
    assert count > 0, f"the proof tried no {noun}"
    if TRIED_FILE:
        with Path(TRIED_FILE).open("a") as file:
            file.write(json.dumps([noun, count]) + "\n")
