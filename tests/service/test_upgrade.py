"""The steps of docs/operate/upgrade.md while merchants pay: the last release, both, the new one."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import psycopg
import pytest

from devstack import cluster
from devstack.servers import Servers
from tests.stage.kills import until
from tests.stage.lengths import length, tried
from tests.stage.own_servers import manage, migrated
from tests.stage.receivers import OK, Receiver
from tests.stage.releases import GROWN, last_release, next_release
from tests.stage.two_of_each import (
    KINDS,
    PATIENCE_SECONDS,
    Shop,
    TwoOfEach,
    delivered,
    numbers_of,
)

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(1200)]

CLIENTS = 2
ACTS = ("charge", "capture", "cancel", "refund")
PAUSE_SECONDS = 0.1
# Payments that succeed between two steps of the upgrade.
BETWEEN = length(short=2, full=40)
MIGRATION = next(iter(GROWN))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver(lambda wire: wire.sendall(OK))
    yield receiver
    receiver.close()


@pytest.fixture
def before() -> Iterator[Path]:
    with last_release() as code:
        yield code


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return next_release(tmp_path / "next")


@pytest.fixture
def house(tmp_path: Path, receiver: Receiver, before: Path) -> Iterator[TwoOfEach]:
    """Two of each process of the last release, on its own schema."""
    has_its_schema = cluster.fits(before)
    servers = (cluster if has_its_schema else Servers).throw_away()
    try:
        settings = migrated(servers, tmp_path)
        if not has_its_schema:
            for alias in ("default", "bank"):
                manage(settings, "migrate", "--database", alias, code=before)
        house = TwoOfEach(settings, tmp_path, receiver, before)
        yield house
        house.stop()
    finally:
        servers.stop()


class Traffic:
    """A merchant's clients that pay, capture and refund without a pause."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.paid, self._stopped = shop, list[str](), threading.Event()
        self._pool = ThreadPoolExecutor(CLIENTS)
        self._clients = [self._pool.submit(self._keep_paying, at) for at in range(CLIENTS)]

    def await_more(self) -> None:
        """Wait until each client has gone on, with whatever runs now."""
        before = len(self.paid)
        until(lambda: self._is_broken() or len(self.paid) >= before + BETWEEN, PATIENCE_SECONDS)
        if self._is_broken():
            self.stop()

    def stop(self) -> None:
        """:raises AssertionError: an answer was none of a good end."""
        self._stopped.set()
        self._pool.shutdown()
        for client in self._clients:
            client.result()

    def _is_broken(self) -> bool:
        return any(client.done() for client in self._clients)

    def _keep_paying(self, number: int) -> None:
        acts = cycle(ACTS[number:] + ACTS[:number])
        while not self._stopped.is_set():
            act = next(acts)
            is_held = act in ("capture", "cancel")
            one = self.shop.pay(**({"capture_method": "manual"} if is_held else {}))
            if is_held:
                self.shop.ask("POST", f"/payment_intents/{one}/{act}")
            elif act == "refund":
                self.shop.ask("POST", "/refunds", {"payment_intent": one, "amount": 100})
            self.paid.append(one)
            self._stopped.wait(PAUSE_SECONDS)


def migrate_and_die(settings: dict[str, str], code: Path) -> None:
    """Kill a migration in its first step."""
    command = [sys.executable, "manage.py", "migrate"]
    with subprocess.Popen(
        command, cwd=code, env=settings, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if MIGRATION in line:
                process.kill()
    assert process.returncode == -signal.SIGKILL


def steps(before: Path, after: Path) -> list[tuple[str, int, Path]]:
    """Return which process is started again with which code, in their order."""
    upgraded = [(kind, at, after) for at in range(2) for kind in KINDS]
    # The last release is started on the new schema, and is rolled back to.
    again = [(kind, 0, before) for kind in KINDS]
    whole = [*again, *upgraded, ("webs", 0, before), ("webs", 0, after)]
    # In the gate both releases are at work to the end, one process of each.
    return length(short=upgraded[: len(KINDS)], full=whole)


def test_an_upgrade_while_merchants_pay(
    house: TwoOfEach, receiver: Receiver, before: Path, after: Path
) -> None:
    shop = Shop(house)
    shop.ask("POST", "/webhook_endpoints", {"url": receiver.url, "enabled_events": ["*"]})
    traffic = Traffic(shop)
    traffic.await_more()

    with pytest.raises(AssertionError, match=r"intents\.9999_grown_index"):
        manage(house.settings, "version", code=after)
    migrate_and_die(house.settings, after)
    traffic.await_more()
    manage(house.settings, "migrate", code=after)
    manage(house.settings, "version", code=after)
    said = manage(house.settings, "version", code=before)
    assert said.count("newer") == len(GROWN), said
    traffic.await_more()
    for kind, at, code in steps(before, after):
        house.replace(kind, at, code)
        traffic.await_more()
    traffic.stop()

    assert_all_is_there(house, shop, receiver, traffic.paid)
    # Planted: a migration that takes away what a process reads is noticed by its payments.
    with psycopg.connect(house.settings["OWNER_DATABASE_URL"]) as owner:
        owner.execute("ALTER TABLE intents_paymentintent DROP COLUMN description CASCADE")
    with pytest.raises(AssertionError, match='"type":"api_error"'):
        shop.pay()


def assert_all_is_there(house: TwoOfEach, shop: Shop, receiver: Receiver, paid: list[str]) -> None:
    expected = {one: numbers_of(shop, one) for one in paid}
    assert all(found == [*range(1, len(found) + 1)] for found in expected.values())
    until(lambda: expected.items() <= delivered(receiver).items(), PATIENCE_SECONDS)
    said = manage(house.settings, "audit", "--rate", "10000")
    assert f"the bank's book is ours: {len(paid)} looked at, ok" in said, said
    # PostgreSQL's own word for a statement that a process did not bear.
    assert [line for line in house.logs().splitlines() if '"level": "error"' in line] == []
    tried(len(paid), "payments during an upgrade")
    print(f"{len(receiver.requests)} deliveries of {sum(map(len, expected.values()))} events")  # noqa: T201
