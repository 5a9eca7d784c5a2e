"""All pages of the reference, and their list.

No page repeats what the code says: an entry's sentences stand next to the code that owns them, and
`tests/docsite` walks the code and asks whether each object, field, code, event, setting and
header has its entry.
"""

from pathlib import Path
from typing import NamedTuple

from docsite.reference import cards, declines, endpoints, errors, events, objects

INDEX = Path("reference", "index.md")
ERRORS = Path("errors.md")


class Page(NamedTuple):
    """A page that is made as a whole.

    :param about: what a reader finds there, for the list of pages.
    """

    path: Path
    title: str
    about: str
    text: str


def made() -> list[Page]:
    """Return the pages, in the order of their list."""
    below = Path("reference")
    return [
        *(
            Page(
                below / "objects" / f"{one.name}.md", one.title,
                "fields, example, endpoints and events", objects.page(one),
            )
            for one in objects.found().values()
        ),
        Page(
            below / "endpoints.md", "Endpoints",
            "every address of the API", endpoints.page(),
        ),
        Page(
            below / "events.md", "Events",
            "each type, the change behind it, its object", events.page(),
        ),
        Page(
            below / "declines.md", "Declines",
            "each code of a refused card, what to tell the customer, whether to try again",
            declines.page(),
        ),
        Page(
            below / "test-cards.md", "Test cards",
            "what each card of the sandbox does in each operation",
            cards.page(),
        ),
    ]  # fmt: skip


def write(directory: Path) -> int:
    """Write all pages into a copy of docs/; return their number."""
    pages = made()
    for page in pages:
        _write(directory / page.path, page.text)
    _write(directory / ERRORS, errors.page((directory / ERRORS).read_text()))
    _write(directory / INDEX, (directory / INDEX).read_text() + _list(pages))
    return len(pages) + 1


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _list(pages: list[Page]) -> str:
    """Return the section of the index that lists the pages."""
    lines = [f"- [{one.title}]({one.path.relative_to(INDEX.parent)}): {one.about}" for one in pages]
    return "\n## Made from the code\n\n" + "\n".join(lines) + "\n"
