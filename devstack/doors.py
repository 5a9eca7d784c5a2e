"""The check of doors: statuses and due times of payments are written where their doors are.

A status changes through `events.transitions`, a due time or a lease through
`acquirers.conversation`. A write anywhere else would pass by the tables and the schedule.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT

# The rooms whose rows have these columns, and the modules that may write them.
ROOMS = ("acquirers", "events", "payments", "payouts")
DOORS = {
    # A terminal is no payment: an operator moves it any way.
    "status": {"events/transitions.py", "acquirers/terminals.py"},
    "due_at": {"acquirers/conversation/schedule.py", "acquirers/conversation/models.py"},
    "lease_until": {"acquirers/conversation/leases.py", "acquirers/conversation/models.py"},
}
# The sweeper writes many rows in one statement, after the doors have changed them in memory.
TOGETHER = {"acquirers/conversation/sweeper.py"}
SAVES = ("create", "update", "get_or_create", "update_or_create", "bulk_update")


class Write(NamedTuple):
    path: Path
    line: int
    column: str

    @property
    def is_outside(self) -> bool:
        path = self.path.as_posix()
        return path not in DOORS[self.column] | TOGETHER


def writes(root: Path) -> Iterator[Write]:
    """Yield every write of such a column in the rooms of a checkout."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from _writes_of(path, path.relative_to(root))


def _writes_of(path: Path, shown: Path) -> Iterator[Write]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for column in _written(node):
            if column in DOORS:
                yield Write(shown, getattr(node, "lineno", 0), column)


def _written(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement or a call may write: of attributes and of columns."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.Call(func=ast.Attribute(attr=saves)) if saves in SAVES:
            yield from _named(node)
        # A row may be made with a status, and only by the doors with a due time.
        case ast.Call(func=ast.Name(id=called)) if called[0].isupper():
            yield from (name for name in _named(node) if name != "status")
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), _]):
            yield name


def _named(call: ast.Call) -> Iterator[str]:
    yield from (keyword.arg for keyword in call.keywords if keyword.arg)
    # The columns of a bulk_update are a list of texts.
    lists = (part for part in call.args if isinstance(part, ast.List))
    for part in lists:
        yield from (str(each.value) for each in part.elts if isinstance(each, ast.Constant))


def main(root: Path = ROOT) -> int:
    """Print the writes outside of the doors and how many were read; 1 if any, or if none was."""
    found = list(writes(root))
    outside = [write for write in found if write.is_outside]
    for path, line, column in outside:
        print(f"{path}:{line}: {column} is written past its door, see devstack/doors.py")
    print(f"{len(found)} writes of statuses and due times read, {len(outside)} past a door")
    return 1 if outside or not found else 0


if __name__ == "__main__":
    sys.exit(main())
