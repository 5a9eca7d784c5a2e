"""A fault that is planted into a built site is found, whatever its kind."""

from pathlib import Path

import pytest

from docsite import findings

GOOD = '<main><h1 id="top">Refunds</h1><a href="../#all">All</a><a href="refunds#top">Up</a></main>'
PLANTED = {
    '<a href="nowhere">x</a>': "nowhere leads nowhere",
    '<a href="../../etc">x</a>': "../../etc leads nowhere",
    '<a href="../#none">x</a>': "../#none has no such anchor",
    '<a href="#none">x</a>': "#none has no such anchor",
    '<p style="margin: 0">x</p>': "p with style",
    '<p onclick="x()">x</p>': "p with onclick",
    '<p id="top">x</p>': "the id top is there twice",
    "<style>p { margin: 0 }</style>": "<style> without a file",
    "<script>x()</script>": "<script> without a file",
    '<script src="https://cdn.example/x.js"></script>': "is fetched from elsewhere",
    '<img src="//cdn.example/x.png">': "is fetched from elsewhere",
    '<link rel="stylesheet" href="gone.css">': "gone.css is not there",
}


def site(directory: Path, page: str) -> Path:
    (directory / "how-to").mkdir()
    (directory / "index.html").write_text('<h1 id="all">All</h1><a href="how-to/refunds">x</a>')
    (directory / "how-to" / "refunds.html").write_text(page)
    return directory


def test_a_sound_site_has_no_fault(tmp_path: Path) -> None:
    assert findings.of_site(site(tmp_path, GOOD)) == (2, 3, [])


@pytest.mark.parametrize(("planted", "fault"), PLANTED.items())
def test_a_planted_fault_is_found(tmp_path: Path, planted: str, fault: str) -> None:
    [found] = findings.of_site(site(tmp_path, GOOD + planted)).faults

    assert found.startswith("how-to/refunds.html: ")
    assert found.endswith(fault)


def test_a_site_without_links_was_not_looked_at(tmp_path: Path) -> None:
    assert findings.of_site(tmp_path).faults == ["no page has a link"]
