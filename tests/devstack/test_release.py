"""`./dev release`: a dated changelog, what later changes are compared with, a commit and a tag."""

import json
import subprocess
from pathlib import Path

import pytest

from devstack import release

CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n"


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one app, at the newest commit of main."""
    migration = tmp_path / "events" / "migrations" / "0001_initial.py"
    migration.parent.mkdir(parents=True)
    migration.write_text("")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "openapi.json").write_text('{"openapi": "3.1.0"}\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "config", "user.name", "a")
    git(tmp_path, "config", "user.email", "a@example.org")
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a")


def test_a_release_is_one_commit_that_names_the_one_it_is_made_of(root: Path) -> None:
    made_of = git(root, "rev-parse", "HEAD")

    release.main(root, "0.1.0")

    released = root / "docs" / "released"
    assert (released / "COMMIT").read_text() == f"{made_of}\n"
    assert list(json.loads((released / "migrations.json").read_text())) == ["events.0001_initial"]
    assert (released / "openapi.json").read_text() == (root / "docs" / "openapi.json").read_text()
    _top, unreleased, dated = (root / "CHANGELOG.md").read_text().split("\n## ")
    assert unreleased == "Unreleased\n"
    assert dated.startswith("0.1.0 (2")
    assert "- A thing." in dated
    assert git(root, "log", "-1", "--format=%s") == "Release 0.1.0"
    assert git(root, "describe") == "v0.1.0"
    assert git(root, "status", "--porcelain") == ""


def _nothing_new(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.0.9\n\n- Old.\n")
    commit(root)


def _released_before(root: Path) -> None:
    (root / "CHANGELOG.md").write_text(f"{CHANGELOG}\n## 0.1.0 (2026-01-01)\n")
    commit(root)


def _not_committed(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("x")


def _beside_main(root: Path) -> None:
    git(root, "switch", "--quiet", "--create", "another")
    (root / "new").write_text("")
    commit(root)


@pytest.mark.parametrize(
    ("so", "sentence"),
    [
        (_nothing_new, "nothing is to release"),
        (_released_before, "has 0.1.0 already"),
        (_not_committed, "commit them first"),
        (_beside_main, "newest commit of main"),
    ],
)
def test_what_is_not_ready_is_refused_and_nothing_changes(
    so: object, sentence: str, root: Path
) -> None:
    assert callable(so)
    so(root)
    before = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")

    with pytest.raises(SystemExit, match=sentence):
        release.main(root, "0.1.0")

    assert before == (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"))
