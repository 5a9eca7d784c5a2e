"""A site replaces the one before if it has no fault, and only if something has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from devstack.state import ROOT
from docsite import __main__ as building

# Instead of all pages: a tree of three, in which one has what the test plants.
TINY = """
import sys
from pathlib import Path
from docsite import __main__ as building, reference, sources

def lay(directory):
    for name, text in PAGES.items():
        (directory / name).write_text(text)

PAGES = {
    "index.md": "# All\\n\\n- [One](one.md): the first\\n- [Two](two.md): the second\\n",
    "one.md": "# One\\n\\n## Its end\\n\\nSee [two](two.md).\\n",
    "two.md": "# Two\\n\\nSee [one](one.md#its-end).\\n\\n" + sys.argv.pop(),
}
sources.lay, reference.write = lay, lambda directory: None
sys.exit(building.main())
"""
PLANTED = {
    "```{nothing}\n```\n": "Unknown directive",
    "- [Three](three.md)\n": "three.md",
    "[end](one.md#no-end)\n": "one#no-end has no such anchor",
    '<p style="margin: 0">x</p>\n': "two.html: p with style",
    "![x](https://cdn.example/x.png)\n": "is fetched from elsewhere",
    "![x](gone.png)\n": "gone.png",
    "```nolexer\nx\n```\n": "nolexer",
}


def build_tiny(place: Path, planted: str) -> tuple[int, str]:
    command = [sys.executable, "-c", TINY, str(place), planted]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory of a site that was built before."""
    place = tmp_path / "built"
    place.mkdir()
    (place / "old.html").write_text("old")
    (place / building.STAMP).write_text("before")
    return place


def names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


@pytest.mark.slow
def test_a_sound_site_replaces_the_one_before(place: Path) -> None:
    status, printed = build_tiny(place, "The end.\n")

    assert (status, "0 faults" in printed) == (0, True), printed
    assert {"index.html", "one.html", "one.md", "two.html", "llms.txt"} <= {*names(place)}
    assert "old.html" not in names(place)


@pytest.mark.slow
def test_each_fault_of_a_page_is_told_and_keeps_the_site_before(place: Path) -> None:
    status, printed = build_tiny(place, "\n".join(PLANTED))

    assert status == 1
    assert [told for told in PLANTED.values() if told not in printed] == [], printed
    assert names(place) == [building.STAMP, "old.html"]


def test_nothing_is_built_while_nothing_has_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "digest_of_sources", lambda: "before")
    monkeypatch.setattr(building, "build_and_replace", lambda *_: pytest.fail("it was built"))
    monkeypatch.setattr(sys, "argv", ["docsite", "--if-changed", str(place)])

    assert building.main() == 0


def test_a_change_of_a_page_or_of_code_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "ROOT", tmp_path)
    monkeypatch.setattr(building.sources, "BESIDE", {})
    for name in ("requirements-up.txt", ".env.example", "docs/a.md", "docs/a.png", "core/ids.py",
                 "docsite/theme/docs.css", "tests/test_a.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    seen = [building.digest_of_sources()]

    for name in ("docs/a.md", "docs/a.png", "core/ids.py", "docsite/theme/docs.css"):
        (tmp_path / name).write_text("two")
        seen.append(building.digest_of_sources())
    (tmp_path / "tests/test_a.py").write_text("two")

    assert len(set(seen)) == len(seen) == 5
    assert building.digest_of_sources() == seen[-1]
