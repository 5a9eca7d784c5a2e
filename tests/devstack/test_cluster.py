"""Databases come migrated: made once by whoever is first, and made anew by other migrations."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from devstack import cluster, migrations
from devstack.servers import Servers
from devstack.state import ONE_DAY_SECONDS, ROOT

TWO_DAYS = 2 * ONE_DAY_SECONDS
TABLES = {"app": "intents_paymentintent", "bank": "testbank_authorization"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The archives that were made, in a checkout that had none."""
    made: list[Path] = []

    def make(archive: Path) -> None:
        made.append(archive)
        archive.touch()

    monkeypatch.setenv("DEV_STATE", str(tmp_path))
    monkeypatch.setattr(cluster, "_make", make)
    return made


def test_runs_that_start_at_once_make_it_once(made: list[Path]) -> None:
    with ThreadPoolExecutor(8) as runs:
        kept = set(runs.map(lambda _run: cluster.kept(), range(8)))

    assert kept == {*made}
    assert len(made) == 1


def test_other_migrations_make_another(made: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = cluster.kept()

    monkeypatch.setattr(migrations, "digests", lambda _root: {("shop", "0001_initial"): "other"})

    assert cluster.kept() != first
    assert len(made) == 2


def test_the_files_fit_code_with_the_same_migrations_alone(tmp_path: Path) -> None:
    # The code of an old commit may lack files that ours are made by.
    assert cluster.fits(ROOT)
    assert not cluster.fits(tmp_path)


def test_what_no_run_has_used_for_a_day_is_swept(made: list[Path], tmp_path: Path) -> None:
    ours, others, half = cluster.kept(), tmp_path / "migrated-0.tar", tmp_path / "migrated-0.new"
    for archive in (others, half):
        archive.touch()
    for archive in (ours, others, half):
        os.utime(archive, (time.time() - TWO_DAYS,) * 2)

    cluster.kept()

    assert [path.exists() for path in (ours, others, half)] == [True, False, False]
    assert len(made) == 1


def test_throw_away_servers_come_with_both_databases_migrated() -> None:
    servers = cluster.throw_away()
    try:
        servers.start_postgres()
        assert all(has_table(servers, name, table) for name, table in TABLES.items())
        assert not has_table(servers, "app", TABLES["bank"])
    finally:
        servers.stop()


def has_table(servers: Servers, name: str, table: str) -> bool:
    with psycopg.connect(servers.database_address(name)) as connection:
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [table]).fetchone()
    return bool(row and row[0])
