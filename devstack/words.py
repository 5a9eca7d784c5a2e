"""The check of words: plain docstrings, comments and docs, and names that mean one thing in a file.

- No docstring or comment opens with a question word (`What the bank says …`): a noun of the domain
  says who does what.
- Few docstrings of the service, and few lines of docs, contain a word that has plainer forms.
- No argument, variable or function has the name of a module that its file imports.
"""

import ast
import importlib.util
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT

REFUSED = re.compile(r"[\s#]*(?:what|whatever|which|whichever|who|whoever|whom|whose)\b", re.I)
RIDDLES = re.compile(
    r"\b(?:told|tells?|telling|nobody|somebody|words?|beside|anew|for\s+ever|call\w*\s+off)\b", re.I
)
# Each may only fall: who needs one of these words again finds another place that needs it less.
DOCSTRINGS_WITH_RIDDLES = 20
RIDDLES_IN_DOCS = 95


class Words(NamedTuple):
    path: Path
    line: int
    text: str


class Read(NamedTuple):
    """The words of a checkout's programs that are looked at."""

    docstrings: list[Words]
    comments: list[Words]
    hiding: list[Words]


def read(root: Path) -> Read:
    """Read every program of a checkout once: parsing all of them takes ten seconds."""
    found = Read([], [], [])
    for path in sorted(programs(root)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = path.relative_to(root)
        found.docstrings.extend(Words(place, *one) for one in _docstrings(tree))
        found.comments.extend(Words(place, *one) for one in _comments(path))
        found.hiding.extend(Words(place, *one) for one in _hiding_names(tree, root))
    return found


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a file: of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        match node:
            # A text that is a statement of its own does nothing else than explain.
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line of every comment of a file."""
    last = -1
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                line = token.start[0]
                if line != last + 1:
                    yield line, token.string
                last = line


def _hiding_names(tree: ast.Module, root: Path) -> Iterator[tuple[int, str]]:
    """Yield every local name that hides a module which the same file imports."""
    modules = set(_imported_modules(tree, root))
    yield from (local for local in sorted(set(_local_names(tree))) if local[1] in modules)


def _imported_modules(tree: ast.Module, root: Path) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.Import():
                yield from (each.asname or each.name.partition(".")[0] for each in node.names)
            case ast.ImportFrom(module=str(package)):
                for each in node.names:
                    if _is_module(root, package, each.name):
                        yield each.asname or each.name


def _is_module(root: Path, package: str, name: str) -> bool:
    place = Path(*package.split("."), name)
    return any(
        (folder / place).with_suffix(".py").exists() or (folder / place).is_dir()
        for folder in (root, *_installed_in(place.parts[0]))
    )


@cache
def _installed_in(package: str) -> list[Path]:
    # Only packages above the first dot are looked for: this imports nothing.
    found = importlib.util.find_spec(package)
    return [Path(folder).parent for folder in found and found.submodule_search_locations or []]


def _local_names(tree: ast.AST, *, is_module: bool = True) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if is_module:
                yield node.lineno, node.name
            for inner in ast.walk(node):
                match inner:
                    case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                        yield inner.lineno, name
                    case ast.FunctionDef(name=name) if inner is not node:
                        yield inner.lineno, name
        elif isinstance(node, ast.ClassDef):
            yield from _local_names(node, is_module=False)


def programs(root: Path) -> Iterator[Path]:
    """Yield every file of Python of a checkout."""
    yield from root.glob("*.py")
    yield from root.glob("dev")
    for room in root.iterdir():
        # Installed packages and caches lie in hidden directories.
        if room.is_dir() and not room.name.startswith("."):
            yield from room.rglob("*.py")


def _riddles_in_docs(root: Path) -> list[Words]:
    return [
        Words(path.relative_to(root), number, line)
        for path in sorted((root / "docs").rglob("*.md"))
        if path.name != "style.md"  # It names the words that have plainer forms.
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if RIDDLES.search(line)
    ]


def _too_many(found: list[Words], limit: int, where: str) -> int:
    """Print all of them if there are more than allowed; return by how many."""
    if len(found) > limit:
        for path, line, text in found:
            print(f"{path}:{line}: has plainer forms: {' '.join(RIDDLES.findall(text))}")
        print(f"{len(found)} {where} contain a word that has plainer forms, {limit} may")
    return max(len(found) - limit, 0)


def main(root: Path = ROOT) -> int:
    """Print what is refused, then how much was read; 1 if any, or if no docstring was found."""
    found, remarks, hiding = read(root)
    refused = [words for words in found + remarks if REFUSED.match(words.text)]
    for path, line, text in refused:
        print(
            f"{path}:{line}: begin with a noun or a verb, not with: {text.strip().splitlines()[0]}"
        )
    for path, line, name in hiding:
        print(f"{path}:{line}: choose another name, the file imports a module: {name}")
    riddles = [it for it in found if it.path.parts[0] != "tests" and RIDDLES.search(it.text)]
    above = _too_many(riddles, DOCSTRINGS_WITH_RIDDLES, "docstrings")
    above += _too_many(_riddles_in_docs(root), RIDDLES_IN_DOCS, "lines of docs")
    wrong = len(refused) + len(hiding) + above
    print(f"{len(found)} docstrings and {len(remarks)} comments read, {wrong} refused")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
