"""The whole site, built: every link leads somewhere, every page is Markdown too, and is listed."""

import re

import pytest

from config import documentation
from docsite import findings
from tests.stage.built_site import addresses, built_site

pytestmark = pytest.mark.slow


def test_every_link_leads_somewhere_and_nothing_is_inline() -> None:
    found = findings.of_site(built_site())

    print(found.summary)  # noqa: T201
    assert found.faults == []
    assert found.pages > 100
    assert found.links > 5000


def test_every_page_is_markdown_at_its_address_and_is_listed() -> None:
    site = built_site()
    pages = {page or "index" for page in addresses(site)} - {"search"}
    named = {f"{page}index" if page.endswith("/") else page for page in pages}

    listed = set(re.findall(r"\]\(([^)]+)\.md\)", (site / "llms.txt").read_text()))
    assert len(named) > 100
    assert named - {"index"} == listed
    assert [page for page in named if not (site / f"{page}.md").read_text().startswith("#")] == []


def test_no_colouring_cuts_what_is_filled_in() -> None:
    found = 0
    for page in built_site().rglob("*.md"):
        written, shown = page.read_text(), page.with_suffix(".html").read_text()
        for sample in (documentation.SAMPLE_ADDRESS.decode(), documentation.SAMPLE_KEY.decode()):
            assert shown.count(sample) == written.count(sample), page
            found += written.count(sample)

    assert found > 150


def test_no_page_is_painted_before_its_end_and_then_moves() -> None:
    pages = [file.read_text() for file in built_site().rglob("*.html")]
    waits = '<link rel="expect" href="#end" blocking="render">'

    assert len(pages) > 100
    assert all(waits in page.partition("</head>")[0] for page in pages)
    assert all(page.rpartition("</main>")[2].count(' id="end"') == 1 for page in pages)


def test_no_key_is_stored_in_the_site() -> None:
    texts = [file.read_text() for file in built_site().rglob("*.html")]

    assert [text for text in texts if re.search(r"sk_sandbox_[0-9A-Za-z]{20}", text)] == []
    assert sum("sk_sandbox_…" in text for text in texts) > 5
