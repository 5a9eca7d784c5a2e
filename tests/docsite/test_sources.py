"""Links of `docs/` lead to the same pages in the site, whose places differ."""

from pathlib import Path

import pytest

from config.documentation import ADDRESS
from docsite import sources
from docsite.sources import DOCS, ROOT

HERE = "how-to/refunds.md"


@pytest.mark.parametrize(
    ("written", "turned"),
    [
        ("[a](topups.md#events)", "[a](topups.md#events)"),
        ("[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("[a](../adr/)", "[a](../adr/index.md)"),
        ("[`q[]`](../errors.md)", "[`q[]`](../errors.md)"),
        ("[the cards](../../README.md#test-cards)", "the cards (`README.md`)"),
        ("[a](gone.md)", "[a](gone.md)"),
        ("[a](https://a.example/b)", "[a](https://a.example/b)"),
        ("![a](../tour/keys.png)", "![a](../tour/keys.png)"),
    ],
)
def test_a_link_is_turned_to_the_sites_place(tmp_path: Path, written: str, turned: str) -> None:
    text = sources.with_links(written, DOCS / HERE, tmp_path / HERE, tmp_path)

    assert text == turned


def test_every_page_of_the_checkout_is_laid(tmp_path: Path) -> None:
    sources.lay(tmp_path)

    laid = {str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.md")}
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert laid == pages | {*sources.BESIDE.values(), "adr/index.md"}
    assert len(pages) > 80
    assert (ROOT / "docs/index.md").exists()


def test_a_diagram_that_needs_a_script_is_left_out(tmp_path: Path) -> None:
    sources.lay(tmp_path)

    states = (tmp_path / "reference" / "states.md").read_text()
    assert "```mermaid" in (DOCS / "reference" / "states.md").read_text()
    assert "stateDiagram" not in states
    assert "| from | to | event |" in states


def test_the_address_of_every_page_is_one_that_is_served() -> None:
    pages = [str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")]

    assert [page for page in pages if not ADDRESS.fullmatch(page)] == []
    assert len(pages) > 80
