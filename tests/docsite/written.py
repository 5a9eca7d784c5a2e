"""The pages of the reference, written once for all tests of a module."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from devstack.state import ROOT
from docsite import reference

WRITTEN = ("errors.md", "reference/index.md", "reference/endpoints.md")


@cache
def pages() -> dict[str, str]:
    """Return the texts of the pages by their names below docs/."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "reference").mkdir()
        for written in WRITTEN:
            shutil.copy(ROOT / "docs" / written, directory / written)
        number = reference.write(directory)
        found = {
            str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*.md")
        }
    assert number == len(found) - 1 > 1
    return found
