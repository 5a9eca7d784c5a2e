"""The volume of PostgreSQL's write-ahead log fills up in the middle of a capture."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from devstack.servers import SUPERUSER, Servers
from tests.stage.kills import until
from tests.stage.one_host import OneHost
from tests.stage.own_servers import manage, migrated
from tests.stage.web_process import WebProcess
from tests.stage.wires import Wire, wire_to

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="a small volume needs root to mount it"),
]

SIZE = "128m"
PATIENCE_SECONDS = 120


class Volume:
    """A small volume with the write-ahead log of servers that do not run yet."""

    def __init__(self, servers: Servers) -> None:
        self._servers, self._path = servers, servers.sockets / "wal"
        self._path.mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "wal", self._path], check=True
        )
        log = servers.data / "pg_wal"
        owner = log.stat()
        shutil.copytree(log, self._path, dirs_exist_ok=True)
        for path in (self._path, *self._path.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
        shutil.rmtree(log)
        log.symlink_to(self._path)

    def fill(self) -> None:
        """Fill the volume, then use up the segments that were made before, until all stops."""
        with suppress(OSError), open(self._path / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(65_536))
        with suppress(psycopg.Error), self._superuser() as raw:
            while True:
                raw.execute("CREATE TABLE IF NOT EXISTS uses_up (); DROP TABLE uses_up")
                raw.execute("SELECT pg_switch_wal()")

    def free(self) -> None:
        """Free the volume, and start PostgreSQL if it gave up."""
        (self._path / "ballast").unlink()

        def answers() -> bool:
            if self._servers.processes["postgres"].poll() is not None:
                self._servers.start_postgres()
            with suppress(psycopg.Error), self._superuser() as raw:
                raw.execute("SELECT pg_switch_wal()")
                return True
            return False

        until(answers, PATIENCE_SECONDS)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self._path], check=True)

    def _superuser(self) -> psycopg.Connection:
        place = {"host": str(self._servers.sockets), "user": SUPERUSER, "dbname": "postgres"}
        return psycopg.connect(**place, autocommit=True)


@pytest.fixture
def volume(own_servers: Servers) -> Iterator[Volume]:
    volume = Volume(own_servers)
    yield volume
    volume.unmount()


@pytest.fixture
def shop(own_servers: Servers, volume: Volume, tmp_path: Path) -> Iterator[tuple[OneHost, Wire]]:
    settings = migrated(own_servers, tmp_path)
    bank = WebProcess(tmp_path / "bank.log", "testbank.wsgi", **settings)
    with wire_to(bank.url) as wire:
        house = OneHost({**settings, "TESTBANK_URL": wire.url}, tmp_path, bank)
        yield house, wire
        house.stop()


def test_a_capture_that_meets_a_full_volume_is_done_once(
    shop: tuple[OneHost, Wire], volume: Volume
) -> None:
    house, wire = shop
    authorized = house.pay(capture_method="manual").json()["id"]
    capture = f"/payment_intents/{authorized}/capture"
    with ThreadPoolExecutor(1) as pool:
        wire.hold()
        capturing = pool.submit(house.post, capture, key="the-capture")
        wire.await_answer()
        volume.fill()
        wire.let_go()
        during = capturing.result()
    refused = house.pay()

    volume.free()
    captured = house.insist(capture, key="the-capture")

    assert (during.status_code, refused.status_code) == (500, 503)
    assert (captured["status"], captured["amount_received"]) == ("succeeded", 12500)
    said = manage(house.settings, "audit")
    assert "the bank's book is ours: 1 looked at, ok" in said
