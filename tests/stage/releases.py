"""The code of the last release, and of a next one whose schema has grown."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.opening import code_of
from devstack.prove import git
from devstack.state import ROOT

COMMIT = ROOT / "docs/released/COMMIT"
# A column and an index in a table of every payment, and a table: added as an upgrade adds them.
GROWN = {
    "9998_grown": """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("intents", "{before}")]
    operations = [
        migrations.AddField("paymentintent", "grown", models.TextField(null=True)),
        migrations.CreateModel(
            name="Grown", fields=[("id", models.BigAutoField(primary_key=True, serialize=False))]
        ),
    ]
""",
    "9999_grown_index": """
from django.db import migrations, models

from core.postgresql.indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("intents", "9998_grown")]
    operations = [
        AddIndexConcurrently("paymentintent", models.Index("grown", name="payments_grown")),
    ]
""",
}


@contextmanager
def last_release() -> Iterator[Path]:
    """Return a directory with the code of the last release; before the first, of the last commit.

    A clone that lacks the release's commit, because its history was cut off, skips the test.
    """
    commit = COMMIT.read_text().strip() if COMMIT.exists() else "HEAD"
    if git("rev-parse", "--is-shallow-repository") == "true" and not _has(commit):
        pytest.skip(f"this clone's history does not reach {commit}")
    with code_of(commit) as code:
        yield code


def _has(commit: str) -> bool:
    return git("cat-file", "-e", f"{commit}^{{commit}}") is not None


def next_release(directory: Path) -> Path:
    """Return a copy of this checkout whose schema has grown by two migrations."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():  # Not deleted since the last commit.
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    migrations = directory / "payments/intents/migrations"
    newest = max(path.stem for path in migrations.glob("[0-9]*.py"))
    for name, code in GROWN.items():
        (migrations / f"{name}.py").write_text(code.format(before=newest))
    return directory
