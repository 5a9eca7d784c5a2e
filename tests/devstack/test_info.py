"""The greeting of `./dev up` and `./dev info`."""

from collections import defaultdict
from pathlib import Path

import pytest

from devstack import info


def documentation(state: Path) -> str:
    greeting = info.greeting(defaultdict(lambda: "x"), state)
    return next(line for line in greeting.splitlines() if "Documentation" in line)


def test_the_greeting_says_how_to_build_the_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(info, "BUILT", tmp_path / "index.html")
    assert documentation(tmp_path) == "  Documentation x/docs/ (./dev docs builds it)"

    (tmp_path / "index.html").touch()

    assert documentation(tmp_path) == "  Documentation x/docs/"
