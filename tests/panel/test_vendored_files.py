"""Files of others are listed with what they are, and are what they were."""

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from devstack.state import ROOT

DIRECTORIES = [ROOT / "panel" / "static" / "vendor", ROOT / "tests" / "browser" / "vendor"]
LISTED = re.compile(r"^(\S+)  +([0-9a-f]{64})  +(\S+)  +(npm|PyPI) \S+ \d+\.\d+\.\d+, \S+$", re.M)


def differences(directory: Path) -> set[str]:
    """Return the files that are not what the list beside them says, or not on it."""
    listed = {name: digest for name, digest, *_ in LISTED.findall(_list(directory).read_text())}
    found = {
        str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in directory.rglob("*")
        if file.is_file() and file != _list(directory)
    }
    return {name for name in listed | found if listed.get(name) != found.get(name)}


def _list(directory: Path) -> Path:
    return directory / "vendor.txt"


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.parent.name)
def test_every_file_is_the_one_that_was_taken(directory: Path) -> None:
    assert differences(directory) == set()


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.parent.name)
def test_every_line_but_the_heading_names_a_file(directory: Path) -> None:
    lines = _list(directory).read_text().partition("\nfile ")[2].splitlines()[1:]

    assert len(lines) == len(LISTED.findall(_list(directory).read_text())) > 1


def test_a_changed_an_added_and_a_missing_file_are_found(tmp_path: Path) -> None:
    copy = shutil.copytree(DIRECTORIES[0], tmp_path / "vendor")
    (copy / "pico" / "pico.min.css").write_text("body { display: none }")
    (copy / "pico" / "LICENSE.md").unlink()
    (copy / "added.js").touch()

    assert differences(copy) == {"pico/pico.min.css", "pico/LICENSE.md", "added.js"}
