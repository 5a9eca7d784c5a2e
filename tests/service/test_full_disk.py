"""A disk that is full while a release migrates: a sentence, nothing half done, and on afterwards.

The database's files lie on a small volume of their own, which needs root.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import requests

from devstack import cluster
from devstack.servers import Servers
from devstack.state import SHORT
from tests.stage.own_servers import manage, migrated
from tests.stage.releases import GROWN, next_release
from tests.stage.two_of_each import OWNER, PATIENCE_SECONDS
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="a volume of its own needs root"),
]

SIZE = "400m"
SENTENCE = "No space left on device). The last release goes on as before. Mend the cause, then run"
TABLE, INDEX = GROWN
PAGE_BYTES = 8192
# More than an index can need of them: a few tables of PostgreSQL's and their indexes.
CATALOG_PAGES = 40
INVALID = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"


@pytest.fixture
def volume() -> Iterator[Path]:
    """Return the mount point of a small volume, where PostgreSQL's user may go."""
    place = Path(tempfile.mkdtemp(prefix="devstack-full-", dir=SHORT))
    place.chmod(0o755)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", place]
    mounted = subprocess.run(mounting, capture_output=True, text=True)
    if mounted.returncode:
        place.rmdir()
        pytest.skip(f"no volume can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)  # noqa: S607
    place.rmdir()


@pytest.fixture
def servers(volume: Path) -> Iterator[Servers]:
    servers = cluster.throw_away()
    subprocess.run(["cp", "--archive", servers.data, volume], check=True)  # noqa: S607
    shutil.rmtree(servers.data)
    servers.data = volume / servers.data.name
    yield servers
    servers.stop()


@contextmanager
def full(volume: Path, *, free_bytes: int = 0) -> Iterator[None]:
    """Leave no more than this on the volume."""
    ballast = volume / "ballast"
    free = shutil.disk_usage(volume).free - free_bytes
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free)
    yield
    ballast.unlink()


def breaks_off(settings: dict[str, str], code: Path) -> str:
    """Return the last line of a migration that ends with another status than 0."""
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        cwd=code, env={**os.environ, **settings}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    [sentence] = done.stderr.splitlines()
    return sentence


def invalid_indexes(servers: Servers) -> int:
    with psycopg.connect(servers.owners_address("app")) as owner:
        [[count]] = owner.execute(INVALID).fetchall()
    return int(count)


class Reader:
    """A merchant whose reads the last release answers meanwhile."""

    def __init__(self, settings: dict[str, str], web: WebProcess) -> None:
        made = json.loads(manage(settings, "create_merchant", *OWNER, "--json"))
        self._url = f"{web.url}/v1/payment_intents"
        self._headers = {"Authorization": f"Bearer {made['secret_key']}"}

    def reads(self) -> bool:
        return requests.get(self._url, headers=self._headers, timeout=PATIENCE_SECONDS).ok


def test_a_migration_on_a_full_disk_goes_on_once_there_is_space(
    volume: Path, servers: Servers, tmp_path: Path
) -> None:
    settings = migrated(servers, tmp_path)
    after = next_release(tmp_path / "next")
    web = WebProcess(tmp_path / "web.log", **settings)
    try:
        shop = Reader(settings, web)
        with full(volume):
            # The first one is a transaction: nothing of it stays.
            assert SENTENCE in breaks_off(settings, after)
            assert shop.reads()
        with pytest.raises(AssertionError, match=rf"lacks +intents\.{TABLE}"):
            manage(settings, "version", code=after)
        manage(settings, "migrate", "intents", TABLE, code=after)
        # The second one leaves an index that is not whole, once the catalog has room for its name.
        for free_bytes in itertools.islice(itertools.cycle((0, PAGE_BYTES)), CATALOG_PAGES):
            with full(volume, free_bytes=free_bytes):
                assert SENTENCE in breaks_off(settings, after)
                assert shop.reads()
            if invalid_indexes(servers):
                break
        assert invalid_indexes(servers) == 1
        with pytest.raises(AssertionError, match=rf"lacks +intents\.{INDEX}"):
            manage(settings, "version", code=after)

        manage(settings, "migrate", code=after)
        with psycopg.connect(servers.owners_address("app")) as owner:
            # As a kill leaves it after the index, and before its migration is written down.
            owner.execute("DELETE FROM django_migrations WHERE name = %s", [INDEX])
        manage(settings, "migrate", code=after)
        manage(settings, "version", code=after)
        assert (invalid_indexes(servers), shop.reads()) == (0, True)
    finally:
        web.stop()
