"""The check of words: no docstring or comment opens with a question word (`What the bank says …`).

A sentence that begins so names neither the thing nor who does it; a noun of the domain does.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT

REFUSED = re.compile(r"[\s#]*(?:what|whatever|which|whichever|who|whoever|whom|whose)\b", re.I)


class Words(NamedTuple):
    path: Path
    line: int
    text: str


def docstrings(root: Path) -> Iterator[Words]:
    """Yield every docstring of a checkout: of modules, classes, functions and attributes."""
    for path in sorted(_programs(root)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                # A text that is a statement of its own does nothing else than explain.
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield Words(path.relative_to(root), node.lineno, text)


def comments(root: Path) -> Iterator[Words]:
    """Yield the first line of every comment of a checkout."""
    for path in sorted(_programs(root)):
        last = -1
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT:
                    line = token.start[0]
                    if line != last + 1:
                        yield Words(path.relative_to(root), line, token.string)
                    last = line


def _programs(root: Path) -> Iterator[Path]:
    yield from root.glob("*.py")
    yield from root.glob("dev")
    for room in root.iterdir():
        # Installed packages and caches lie in hidden directories.
        if room.is_dir() and not room.name.startswith("."):
            yield from room.rglob("*.py")


def main(root: Path = ROOT) -> int:
    """Print those that are refused and how many were read; 1 if any, or if none was."""
    found, remarks = list(docstrings(root)), list(comments(root))
    refused = [words for words in found + remarks if REFUSED.match(words.text)]
    for path, line, text in refused:
        print(
            f"{path}:{line}: begin with a noun or a verb, not with: {text.strip().splitlines()[0]}"
        )
    print(f"{len(found)} docstrings and {len(remarks)} comments read, {len(refused)} refused")
    return 1 if refused or not found else 0


if __name__ == "__main__":
    sys.exit(main())
