"""The sources that Sphinx reads: the pages of `docs/`, laid out as their addresses are."""

import os
import re
import shutil
from pathlib import Path

from devstack.state import ROOT

DOCS = ROOT / "docs"
# Files of the checkout that are pages of the site too, and their places there.
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contribute/map.md"}
# Pages of `docs/` that are for machines, or have their own place.
LEFT_OUT = shutil.ignore_patterns("openapi-examples.json")
LINK = re.compile(r"(?<!\!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)#\s:]+)((?:#[^)\s]*)?)\)")
# A diagram would need a script of others, and its tables stand below it.
DIAGRAM = re.compile(r"^```mermaid\n.*?^```\n\n", re.M | re.S)
# A language of samples that no lexer colours.
PLAIN = re.compile(r"^```csv$", re.M)


def lay(directory: Path) -> None:
    """Copy all sources into an empty directory, with their links turned to their new places."""
    shutil.copytree(DOCS, directory, ignore=LEFT_OUT, dirs_exist_ok=True)
    for name, place in BESIDE.items():
        shutil.copy(ROOT / name, directory / place)
    (directory / "adr" / "index.md").write_text(_decisions())
    origins = {directory / place: ROOT / name for name, place in BESIDE.items()}
    for page in directory.rglob("*.md"):
        origin = origins.get(page, DOCS / page.relative_to(directory))
        text = with_links(page.read_text(), origin, page, directory)
        page.write_text(PLAIN.sub("```text", DIAGRAM.sub("", text)))


def with_links(text: str, origin: Path, page: Path, directory: Path) -> str:
    """Turn links to files of the checkout into links of the site.

    A link to a file that the site does not have becomes the file's name.
    """

    def turned(link: re.Match[str]) -> str:
        label, target, anchor = link.groups()
        wanted = Path(os.path.normpath(origin.parent / target))
        place = _place(wanted, directory)
        if place is None:
            return f"{label} (`{wanted.relative_to(ROOT)}`)"
        return f"[{label}]({os.path.relpath(place, page.parent)}{anchor})"

    return LINK.sub(turned, text)


def _place(wanted: Path, directory: Path) -> Path | None:
    """Return the place of a file of the checkout; a dead link stays dead, and Sphinx sees it."""
    beside = BESIDE.get(str(wanted.relative_to(ROOT)))
    if beside:
        return directory / beside
    if wanted == DOCS / "adr":
        return directory / "adr" / "index.md"
    if wanted.is_relative_to(DOCS):
        return directory / wanted.relative_to(DOCS)
    return None if wanted.exists() else directory / wanted.name


def _decisions() -> str:
    """Return the page that lists every decision, by its number."""
    pages = sorted((DOCS / "adr").glob("[0-9]*.md"))
    titles = [page.read_text().partition("\n")[0].lstrip("# ") for page in pages]
    listed = [f"- [{title}]({page.name})" for title, page in zip(titles, pages, strict=True)]
    opening = "# Decisions\n\nEach page says what was decided, why, and what was rejected.\n\n"
    return opening + "\n".join(listed) + "\n"
