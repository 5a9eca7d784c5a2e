"""The check of moments: one module makes moments of a time zone, `core/local_days.py`.

Python compares two moments of one zone by their wall clocks, which is wrong in the nights in which
the clocks change. PostgreSQL does so with wall clocks that a statement makes. Elsewhere moments are
in UTC, and a statement makes dates alone.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT

ROOMS = (
    *("core", "events", "merchants", "api", "ledger", "cases", "vault", "testbank", "acquirers"),
    *("payments", "payouts", "webhooks", "audit", "panel", "config", "devstack"),
)
DOOR = "core/local_days.py"
# Calls that make a moment in the zone that they are given, by the place of that argument.
GIVEN_A_ZONE = {"astimezone": 0, "now": 0, "fromtimestamp": 1, "combine": 2, "datetime": 7}
# Calls that make one in another zone than UTC, whatever they are given.
OF_ANOTHER_ZONE = {
    *("ZoneInfo", "today", "utcnow", "utcfromtimestamp", "localtime", "localdate"),
    *("make_aware", "make_naive", "get_current_timezone", "get_default_timezone"),
}
# These names mean a moment only after one of these words: Django's `timezone.now()` is in UTC, and
# any text may be combined.
OWNERS = {
    "now": {"datetime"},
    "today": {"date", "datetime"},
    "combine": {"datetime"},
    "fromtimestamp": {"date", "datetime"},
}
# In statements: `(created_at AT TIME ZONE %(zone)s)::date` is a date, anything else a wall clock.
AT_A_ZONE = re.compile(r"\bAT\s+TIME\s+ZONE\b", re.I)
AS_A_DATE = re.compile(r"\bAT\s+TIME\s+ZONE\s+[\w.%']+(?:\(\w+\)s)?\s*\)::date\b", re.I)


class Moment(NamedTuple):
    path: Path
    line: int
    is_in_utc: bool


def moments(root: Path) -> Iterator[Moment]:
    """Yield each place of a checkout's rooms that makes a moment, or takes one apart."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if path.relative_to(root).as_posix() != DOOR:
                yield from _moments_of(path, path.relative_to(root))


def _moments_of(path: Path, shown: Path) -> Iterator[Moment]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_in_utc = _is_in_utc(node)
        if is_in_utc is not None:
            yield Moment(shown, getattr(node, "lineno", 0), is_in_utc)


def _is_in_utc(node: ast.AST) -> bool | None:
    """Return whether a call's or a statement's moment is in UTC; None if it makes none."""
    match node:
        case ast.Call():
            return _is_call_in_utc(node)
        case ast.Constant(value=str(text)) if made := AT_A_ZONE.findall(text):
            return len(made) == len(AS_A_DATE.findall(text))
    return None


def _is_call_in_utc(call: ast.Call) -> bool | None:
    owner, name = _called(call.func)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in OWNERS and owner not in OWNERS[name]:
        return None
    if name in OF_ANOTHER_ZONE:
        return False
    if name == "replace":
        # A wall clock that is set to another hour, or a moment that is given another zone.
        return False if {"hour", "tzinfo"} & given.keys() else None
    if name not in GIVEN_A_ZONE:
        return None
    place = GIVEN_A_ZONE[name]
    zone = call.args[place] if len(call.args) > place else given.get("tzinfo", given.get("tz"))
    return zone is not None and _called(zone)[1].lower() == "utc"


def _called(node: ast.AST) -> tuple[str, str]:
    """Return the last part of a dotted name, and the part before it."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return _called(value)[1], name
        case ast.Name(id=name):
            return "", name
    return "", ""


def main(root: Path = ROOT) -> int:
    """Print the moments that are not in UTC and how many were read; 1 if any, or if none was."""
    found = list(moments(root))
    others = [moment for moment in found if not moment.is_in_utc]
    for path, line, _ in others:
        print(f"{path}:{line}: a moment of a zone is made in {DOOR} alone, see devstack/moments.py")
    print(f"{len(found)} moments read, {len(others)} not in UTC")
    return 1 if others or not found else 0


if __name__ == "__main__":
    sys.exit(main())
