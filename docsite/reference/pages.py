"""All pages of the reference, and their lists.

No page repeats what the code says: an entry's sentences stand next to the code that owns them, and
`tests/docsite` walks the code and asks whether each object, field, code, event, setting and
header has its entry.
"""

from pathlib import Path
from typing import NamedTuple

from docsite.reference import (
    cards,
    declines,
    endpoints,
    errors,
    events,
    headers,
    limits,
    objects,
    settings,
)

REFERENCE = Path("reference")
OBJECTS = REFERENCE / "objects"
INDEX = REFERENCE / "index.md"
# Written pages with a list that gives way to a whole one.
COMPLETED = {Path("errors.md"): errors.page, REFERENCE / "endpoints.md": endpoints.page}


class Page(NamedTuple):
    """A page that is made as a whole.

    :param about: what a reader finds there, for the list of pages.
    """

    path: Path
    title: str
    about: str
    text: str


def of_objects() -> list[Page]:
    """Return a page for each object of the API, and one for their lists."""
    return [
        *(
            Page(OBJECTS / f"{one.name}.md", one.title, one.summary, objects.page(one))
            for one in objects.found().values()
        ),
        Page(OBJECTS / "list.md", "List", "the envelope of every list", objects.list_page()),
    ]


def of_tables() -> list[Page]:
    """Return the pages that are one table, or an entry for each of many names."""
    made = {
        "events.md": ("Events", "each type, the change behind it, its object", events.page),
        "declines.md": (
            "Declines",
            "each code of a refused card, what to tell the customer, whether to try again",
            declines.page,
        ),
        "test-cards.md": (
            "Test cards",
            "the result of each operation with each card of the sandbox",
            cards.page,
        ),
        "headers.md": ("Headers", "of requests, answers and deliveries", headers.page),
        "limits.md": ("Limits", "sizes, times, numbers, and how long things are kept", limits.page),
        "settings.md": ("Settings", "each variable of an installation", settings.page),
    }
    return [
        Page(REFERENCE / name, title, about, text()) for name, (title, about, text) in made.items()
    ]


def write(directory: Path) -> int:
    """Write all pages into a copy of docs/; return their number."""
    below, tables = of_objects(), of_tables()
    index = Page(
        OBJECTS / "index.md",
        "Objects",
        "fields, example, states, endpoints and events of each",
        "# Objects\n\n" + _list(below, OBJECTS),
    )
    for page in (*below, index, *tables):
        _write(directory / page.path, page.text)
    for path, completed in COMPLETED.items():
        _write(directory / path, completed((directory / path).read_text()))
    listed = "\n## Made from the code\n\n" + _list([index, *tables], REFERENCE)
    _write(directory / INDEX, (directory / INDEX).read_text() + listed)
    return len(below) + 1 + len(tables) + len(COMPLETED)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _list(pages: list[Page], folder: Path) -> str:
    """Return the lines of an index that list its pages."""
    lines = [f"- [{one.title}]({one.path.relative_to(folder)}): {one.about}" for one in pages]
    return "\n".join(lines) + "\n"
