"""The check of the documentation's sentences: how long they are, and forms that have plainer ones.

Pages are read as Markdown. A code span counts once. Code blocks, headings, comments and the names
of a table's columns are not read. Cells are held to the longest length; the median counts
the sentences of paragraphs and lists alone, because cells are short anyway.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from devstack.state import ROOT

LONGEST = 35
MEDIAN = 16
# Decisions and measurements are history: their sentences are held to the longest length alone.
HISTORY = ("adr", "benchmarks.md")

CODE = "Code"
END = re.compile(r"""(?<=[.!?])["”’')\]*_]*\s+(?=["“‘'(\[*_]*[A-ZÇĞİÖŞÜ0-9$/])""")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|no|St|Cd)|…)\.$", re.I)
WORD = re.compile(r"[\w$€₺%][\w'’.,:/@%+–-]*")
LABEL = re.compile(r"^(?:\([\w-]+\)=|:{3,}.*|\{[\w-]+\}.*)$", re.M)
ROLE = re.compile(r"\{[\w:-]+\}(?=Code)")
FORMS = {
    "a question word as subject": re.compile(
        r"(?:^|[;:]\s+|[.!?]\s+)(?:what|whatever|who|whoever|whose|whom)\b(?!.*\?$)"
        r"|,\s+(?:and |but |or |so |nor )?(?:whatever|whoever)\b"
        r"|,\s+(?:and|but|or|so) what\b|,\s+what\b",
        re.I,
    ),
    "but for": re.compile(r"\bbut for\b", re.I),
    "is told by": re.compile(r"\b(?:is|are|was|were|be|been) told\b", re.I),
    "nor is": re.compile(r"\bnor (?:is|are|was|were|do|does|did|has|have|can|may|will)\b", re.I),
    "of which": re.compile(r"\bof (?:which|whom)\b", re.I),
    "all the same": re.compile(r"\ball the same\b", re.I),
    "anew": re.compile(r"\banew\b", re.I),
    "for ever": re.compile(r"\bfor ever\b", re.I),
}


class Sentence(NamedTuple):
    path: Path
    line: int
    text: str
    is_cell: bool

    @property
    def length(self) -> int:
        """Return its length; a code span counts once."""
        return len(WORD.findall(self.text))


def sentences(root: Path) -> Iterator[Sentence]:
    """Yield every sentence of a checkout's README and docs."""
    for path in pages(root):
        tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
        for line, text, is_cell in _texts(tokens):
            for sentence in _split(text):
                yield Sentence(path.relative_to(root), line, sentence, is_cell)


def pages(root: Path) -> list[Path]:
    """Return the pages that readers are given."""
    return [*sorted(root.glob("README.md")), *sorted((root / "docs").rglob("*.md"))]


def _texts(tokens: list[Token]) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and whether it is a cell, of each paragraph, item and cell."""
    line, opened = 1, [""]
    for token in tokens:
        line = token.map[0] + 1 if token.map else line
        if token.nesting == 1:
            opened.append(token.type)
        elif token.nesting == -1:
            opened.pop()
        elif token.type == "inline" and opened[-1] not in ("heading_open", "th_open"):
            yield line, _plain(token), opened[-1] == "td_open"


def _plain(inline: Token) -> str:
    parts = {"softbreak": "\n", "hardbreak": ". ", "code_inline": CODE}
    text = "".join(
        parts.get(child.type, child.content if child.type == "text" else "")
        for child in inline.children or []
    )
    return ROLE.sub("", LABEL.sub("", text)).replace("\n", " ").strip()


def _split(text: str) -> Iterator[str]:
    rest = ""
    for part in END.split(text):
        rest = f"{rest} {part}".strip()
        if not ABBREVIATION.search(rest):
            yield from [rest] if rest else []
            rest = ""
    if rest:
        yield rest


def faults(sentence: Sentence) -> Iterator[str]:
    """Yield the rules that a sentence breaks."""
    if sentence.length > LONGEST:
        yield f"{sentence.length} words, {LONGEST} may be"
    if not _is_history(sentence.path):
        yield from (f"“{name}”" for name, form in FORMS.items() if form.search(sentence.text))


def _is_history(path: Path) -> bool:
    return any(part in HISTORY for part in path.parts)


def main(root: Path = ROOT) -> int:
    """Print each fault, then how much was read; 1 if there is any, or nothing was read."""
    read = list(sentences(root))
    found = [(each, fault) for each in read for fault in faults(each)]
    for (path, line, text, _is_cell), fault in found:
        print(f"{path}:{line}: {fault}: {text}")
    lengths = [each.length for each in read if not each.is_cell and not _is_history(each.path)]
    middle = median(lengths) if lengths else 0
    if middle > MEDIAN:
        print(f"half of the sentences have over {middle:g} words, {MEDIAN} may be the median")
    print(
        f"{len(read)} sentences of {len({each.path for each in read})} pages read, "
        f"median {middle:g} words, longest {max((each.length for each in read), default=0)}, "
        f"{len(found)} faults"
    )
    return 1 if found or middle > MEDIAN or not lengths else 0


if __name__ == "__main__":
    sys.exit(main())
