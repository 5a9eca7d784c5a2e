"""Faults of a built site: links that lead nowhere, and what the policy of pages would block."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

INDEX = "index.html"


class Findings(NamedTuple):
    pages: int
    links: int
    faults: list[str]

    @property
    def summary(self) -> str:
        return f"{self.pages} pages with {self.links} links, {len(self.faults)} faults"


class _Page(HTMLParser):
    """Collects the anchors of a page, its links, and what the policy refuses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.refused: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given and given["id"] in self.anchors:
            self.refused.append(f"the id {given['id']} is there twice")
        self.anchors.add(given.get("id") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        loaded = given.get("src") or (given.get("href") if tag == "link" else None)
        if loaded:
            self.loaded.append(loaded)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.refused.append(f"<{tag}> without a file")
        self.refused += [
            f"{tag} with {name}" for name in given if name == "style" or name[:2] == "on"
        ]


def of_site(built: Path) -> Findings:
    """Return the faults of every page below a directory; a site without links is one, too."""
    pages = {file: _Page(file.read_text()) for file in sorted(built.rglob("*.html"))}
    faults = [
        f"{file.relative_to(built)}: {fault}"
        for file, page in pages.items()
        for fault in _faults(file, page, pages, built)
    ]
    links = sum(len(page.links) for page in pages.values())
    return Findings(len(pages), links, faults or ([] if links else ["no page has a link"]))


def _faults(file: Path, page: _Page, pages: dict[Path, _Page], built: Path) -> Iterator[str]:
    yield from page.refused
    for address in page.loaded:
        if urlsplit(address).netloc:
            yield f"{address} is fetched from elsewhere"
        elif not address.startswith("data:") and not _file(file, address, built):
            yield f"{address} is not there"
    for address in page.links:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = _file(file, address, built)
        if target is None:
            yield f"{address} leads nowhere"
        elif parts.fragment and target in pages and parts.fragment not in pages[target].anchors:
            yield f"{address} has no such anchor"


def _file(page: Path, address: str, built: Path) -> Path | None:
    """Return the file of an address in a page, as the site's servers find it."""
    path = unquote(urlsplit(address).path)
    if not path:
        return page
    wanted = (page.parent / path).resolve()
    found = [wanted, wanted.with_name(f"{wanted.name}.html"), wanted / INDEX]
    is_inside = wanted.is_relative_to(built.resolve())
    return next((file for file in found if is_inside and file.is_file()), None)
