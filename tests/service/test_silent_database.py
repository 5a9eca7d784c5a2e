"""The database's host vanishes: packets to it are dropped, and no connection is closed."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import psycopg
import pytest

from devstack import pooler
from devstack.servers import Servers
from tests.stage.kills import until
from tests.stage.one_host import OneHost
from tests.stage.own_servers import manage, migrated
from tests.stage.shipped_pooler import shipped_pooler
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None,
        reason="a network of its own needs root, and iproute2",
    ),
]

# A network of each process's own: the tests of this file may run at the same time.
NETWORK = ip_address("198.18.0.0") + 4 * (os.getpid() % 2**15)
OURS, THEIRS, PORT = f"{NETWORK + 1}", f"{NETWORK + 2}", 5432
ADDRESS = f"postgresql://app@{THEIRS}:{PORT}/app"
PATIENCE_SECONDS = 60
# docs/operate/database.md promises that silence is noticed within so long.
NOTICED_SECONDS = 15
# And by which a request behind the pooler may wait for another session then.
WAITED_SECONDS = 10
# A loaded machine's own time.
MARGIN_SECONDS = 5
# Passes each connection on to a socket of the file system: that one is reached from any network.
PASSES_ON = """
import socket, sys, threading
def pass_on(one, other):
    while part := one.recv(65536):
        other.sendall(part)
    other.shutdown(socket.SHUT_RDWR)
door = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    near, _ = door.accept()
    far = socket.socket(socket.AF_UNIX)
    far.connect(sys.argv[3])
    for ends in ((near, far), (far, near)):
        threading.Thread(target=pass_on, args=ends, daemon=True).start()
"""


class Host:
    """A host of its own network, with an address at which the database is reached."""

    def __init__(self, database: Path) -> None:
        self._name, self._link = f"tests{os.getpid()}", f"t{os.getpid()}"
        within = ["ip", "netns", "exec", self._name]
        _ip(f"netns add {self._name}")
        _ip(f"link add {self._link} type veth peer name far netns {self._name}")
        _ip(f"addr add {OURS}/30 dev {self._link}")
        _ip(f"link set {self._link} up")
        self._there(f"addr add {THEIRS}/30 dev far")
        self._there("link set far up")
        command = [*within, sys.executable, "-c", PASSES_ON, THEIRS, str(PORT), str(database)]
        self._process = subprocess.Popen(command)

    def vanish(self) -> None:
        """Let no packet come back from there."""
        self._there(f"route add blackhole {OURS}/32")

    def come_back(self) -> None:
        self._there(f"route del blackhole {OURS}/32")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        _ip(f"link del {self._link}")  # Sockets that nobody answers would keep it for minutes.
        _ip(f"netns del {self._name}")

    def answers(self) -> bool:
        with suppress(psycopg.Error), psycopg.connect(ADDRESS, connect_timeout=2):
            return True
        return False

    def _there(self, command: str) -> None:
        _ip(f"-n {self._name} {command}")


def _ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)


@contextmanager
def host_before(servers: Servers) -> Iterator[Host]:
    host = Host(servers.sockets / ".s.PGSQL.5432")
    try:
        until(host.answers, PATIENCE_SECONDS)
        yield host
    finally:
        host.stop()


def test_a_database_that_falls_silent_is_noticed_within_15_seconds(
    own_servers: Servers, tmp_path: Path
) -> None:
    settings = migrated(own_servers, tmp_path)
    with host_before(own_servers) as host:
        play_silence(host, {**settings, "DATABASE_URL": ADDRESS}, tmp_path, NOTICED_SECONDS)


def test_a_pooler_notices_it_in_the_same_time_and_bounds_statements_of_web(
    own_servers: Servers, tmp_path: Path
) -> None:
    settings = migrated(own_servers, tmp_path)
    pooler.give_role_its_limits(own_servers.sockets)
    entry = f"host={THEIRS} port={PORT} dbname=app"
    with host_before(own_servers) as host, shipped_pooler(own_servers, entry) as address:
        bounds = [statement_bound(f"{address}/{name}") for name in ("pay", "pay_web")]
        assert bounds == ["0", "30s"]
        behind = {"DATABASE_URL": f"{address}/pay_web", "BEHIND_POOLER": "true"}
        play_silence(host, {**settings, **behind}, tmp_path, NOTICED_SECONDS + WAITED_SECONDS)


def statement_bound(address: str) -> str:
    with psycopg.connect(address) as connection:
        [bound] = connection.execute("SHOW statement_timeout").fetchone()
    return bound


def play_silence(host: Host, settings: dict[str, str], home: Path, promised: int) -> None:
    bank = WebProcess(home / "bank.log", "testbank.wsgi", **settings)
    house = OneHost({**settings, "TESTBANK_URL": bank.url}, home, bank)
    try:
        assert house.pay().status_code == 200
        host.vanish()
        # The first one finds sessions that were open, and the second one those that are to be.
        answers = [timed_payment(house) for _ in range(2)]
        host.come_back()
        until(lambda: house.pay().status_code == 200, PATIENCE_SECONDS)
        said = manage(house.settings, "audit")
    finally:
        house.stop()

    print(f"noticed after {answers[0][1]:.1f} s, and then {answers[1][1]:.1f} s")  # noqa: T201
    assert [status for status, _ in answers] == [503, 503]
    assert max(seconds for _, seconds in answers) <= promised + MARGIN_SECONDS
    assert "the bank's book is ours: 2 looked at, ok" in said


def timed_payment(house: OneHost) -> tuple[int, float]:
    began = time.monotonic()
    status = house.pay().status_code
    return status, time.monotonic() - began
