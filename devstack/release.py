"""`./dev release`: make this checkout's version a release, as one commit.

The changelog gets the version and its date. `docs/released/` gets what later changes are compared
with: the API's document, the digests of all migrations, and the commit that the release is made of.
From then on migrations are added, never changed.
"""

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from core.version import VERSION
from devstack import migrations
from devstack.console import say
from devstack.state import ROOT, CannotContinue

UNRELEASED = "## Unreleased\n"
BRANCH = "main"


def prepare(root: Path, version: str, *, commit: str, today: date) -> None:
    """Write the files of a release.

    :param commit: the one that it is made of.
    :raises CannotContinue: the changelog has nothing to release, or has the version already.
    """
    changelog = root / "CHANGELOG.md"
    changelog.write_text(_dated(changelog.read_text(), version, today))
    released = root / "docs" / "released"
    released.mkdir(exist_ok=True)
    shutil.copyfile(root / "docs" / "openapi.json", released / "openapi.json")
    digests = {".".join(name): digest for name, digest in migrations.digests(root).items()}
    (released / "migrations.json").write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
    (released / "COMMIT").write_text(f"{commit}\n")


def _dated(changelog: str, version: str, today: date) -> str:
    if re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        raise CannotContinue(f"The changelog has {version} already: raise core/version.py first.")
    before, mark, after = changelog.partition(UNRELEASED)
    entries = re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]
    if not mark or "\n- " not in entries:
        raise CannotContinue("The changelog has nothing below Unreleased: nothing is to release.")
    return f"{before}{UNRELEASED}\n## {version} ({today.isoformat()})\n{after}"


def _require_ready(root: Path) -> str:
    """Return the commit to be released.

    :raises CannotContinue: there are changes that no commit has, or the commit is not on main.
    """
    if _git(root, "status", "--porcelain"):
        raise CannotContinue("There are changes that no commit has: commit them first.")
    commit = _git(root, "rev-parse", "HEAD")
    if commit != _git(root, "rev-parse", BRANCH):
        raise CannotContinue(f"A release is made of the newest commit of {BRANCH}: go there first.")
    return commit


def main(root: Path = ROOT, version: str = VERSION) -> None:
    try:
        commit = _require_ready(root)
        prepare(root, version, commit=commit, today=datetime.now(UTC).date())
    except CannotContinue as refusal:
        sys.exit(str(refusal))
    _git(root, "add", "CHANGELOG.md", "docs/released")
    _git(root, "commit", "--quiet", "--message", f"Release {version}")
    try:
        _git(root, "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    except CannotContinue as problem:
        say("release", f"no tag: {problem}")
    say("release", f"{version}, made of {commit[:12]}")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise CannotContinue(done.stderr.strip() or f"git {arguments[0]} failed.")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
