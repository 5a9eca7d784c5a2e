"""Tests that the gate leaves out and `./dev prove` plays; a test named by its id is always played.

- `only_full("why")`: a proof that has a short twin, or another case, in the gate.
- `planted`: a fault that a proof has to find. The gate plants the first one of each file, and all
  of a file that has changed since main, or that imports a changed file of `tests/`.
- Of a file's tests at other doors (`tests.stage.both_banks`) the gate plays one at each: the last
  at Garanti's, and the first at the others. It is none that is `planted`: the check itself is to be
  played there. `gate_at_doors` adds a test to these.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from devstack.prove import git
from devstack.state import ROOT
from tests.stage import both_banks
from tests.stage.lengths import IS_FULL


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """At the short length, keep the tests of the gate."""
    if IS_FULL:
        return
    out = {item for item in items if item.get_closest_marker("only_full")}
    for faults in _by_file(items, lambda item: item.get_closest_marker("planted")):
        out.update(() if _is_changed(faults[0]) else faults[1:])
    lost = [item.nodeid for item in out if not item.get_closest_marker("proof")]
    assert not lost, f"no proof would play {lost}"
    for seconds in _by_file((item for item in items if item not in out), both_banks.other_door):
        out.update(set(seconds) - _one_at_each_door(seconds))
    out = {item for item in out if not _is_named(item)}
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]


def _by_file(
    items: Iterable[pytest.Item], is_meant: Callable[[pytest.Item], Any]
) -> Iterable[list[pytest.Item]]:
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in filter(is_meant, items):
        files[item.path].append(item)
    return files.values()


def _one_at_each_door(seconds: list[pytest.Item]) -> set[pytest.Item]:
    checks = [item for item in seconds if not item.get_closest_marker("planted")]
    by_door: dict[str | None, pytest.Item] = {}
    for item in checks:
        door = both_banks.other_door(item)
        if door == both_banks.GARANTI or door not in by_door:
            by_door[door] = item
    always = {item for item in checks if item.get_closest_marker("gate_at_doors")}
    return {*by_door.values()} | always


def _is_named(item: pytest.Item) -> bool:
    return any("::" in asked and item.nodeid.startswith(asked) for asked in item.config.args)


def _is_changed(item: pytest.Item) -> bool:
    """Tell whether the file of a test has changed, or one that it imports; without git it has."""
    changed = changed_files()
    own = str(item.path.relative_to(ROOT))
    return changed is None or bool(changed & {own, *imported_by(item.path.read_text())})


def imported_by(text: str) -> Iterator[str]:
    """Yield the files of `tests/` that a module may import by these lines."""
    for line in ast.walk(ast.parse(text)):
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("tests."):
            names = [str(line.module), *(f"{line.module}.{one.name}" for one in line.names)]
            yield from (f"{name.replace('.', '/')}.py" for name in names)


@cache
def changed_files() -> frozenset[str] | None:
    """Return the files that have changed since main, on main since the commit before.

    None without git, and in a checkout that has no main.
    """
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main")
    if base == git("rev-parse", "HEAD"):
        base = "HEAD~1"
    changed, new = git("diff", "--name-only", str(base)), git("ls-files", "--others", "tests")
    return None if changed is None else frozenset(f"{changed}\n{new}".split())
