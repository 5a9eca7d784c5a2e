"""The check of words: no docstring opens with a question word (`What the bank says …`).

A sentence that begins so names neither the thing nor who does it; a noun of the domain does.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT

REFUSED = re.compile(r"\s*(?:what|whatever|which|whichever|who|whoever|whom|whose)\b", re.I)


class Docstring(NamedTuple):
    path: Path
    line: int
    text: str


def docstrings(root: Path) -> Iterator[Docstring]:
    """Yield every docstring of a checkout: of modules, classes, functions and attributes."""
    for path in sorted(_programs(root)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                # A text that is a statement of its own does nothing else than explain.
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield Docstring(path.relative_to(root), node.lineno, text)


def _programs(root: Path) -> Iterator[Path]:
    yield from root.glob("*.py")
    yield from root.glob("dev")
    for room in root.iterdir():
        # Installed packages and caches lie in hidden directories.
        if room.is_dir() and not room.name.startswith("."):
            yield from room.rglob("*.py")


def main(root: Path = ROOT) -> int:
    """Print the docstrings that are refused and how many were read; 1 if any, or if none was."""
    found = list(docstrings(root))
    refused = [docstring for docstring in found if REFUSED.match(docstring.text)]
    for path, line, text in refused:
        print(
            f"{path}:{line}: begin with a noun or a verb, not with: {text.strip().splitlines()[0]}"
        )
    print(f"{len(found)} docstrings read, {len(refused)} refused")
    return 1 if refused or not found else 0


if __name__ == "__main__":
    sys.exit(main())
