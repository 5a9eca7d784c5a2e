"""The reasons for which a retired key of a purpose is still needed, one function for each purpose.

The rooms that use a purpose register theirs; without a reason the key may be purged.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone


class Retired(NamedTuple):
    """A retired key: since then no process makes anything with it."""

    name: str
    purpose: str
    retired_at: datetime


# Yields a sentence for each reason.
Need = Callable[[Retired], Iterator[str]]
_needs: dict[str, list[Need]] = {}


def register(purpose: str, need: Need) -> None:
    """Let a room say for which reasons it needs a purpose's retired keys."""
    if need not in (known := _needs.setdefault(purpose, [])):
        known.append(need)


def purposes() -> frozenset[str]:
    """Return the purposes whose keys can be changed."""
    return frozenset(_needs)


def of(key: Retired) -> list[str]:
    """Return the reasons why a retired key is needed, none if it may be purged."""
    return [reason for need in _needs.get(key.purpose, []) for reason in need(key)]


def for_so_long(what: str, lives: timedelta) -> Need:
    """Return a need that ends by itself: the longest life of what the key made."""

    def need(key: Retired) -> Iterator[str]:
        ends_at = key.retired_at + lives
        if timezone.now() < ends_at:
            yield f"{what} may have been made with it until {ends_at:%Y-%m-%d %H:%M}"

    return need
