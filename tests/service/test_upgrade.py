"""The steps of docs/operate/upgrade.md while merchants pay: the last release, both, the new one."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from devstack import cluster, storage
from devstack.servers import Servers
from tests.stage.lengths import length, tried
from tests.stage.own_servers import manage, migrated
from tests.stage.receivers import Receiver
from tests.stage.releases import GROWN, last_release, next_release
from tests.stage.shop_traffic import Traffic, assert_all_is_there
from tests.stage.two_of_each import KINDS, Shop, TwoOfEach

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(1200)]

# Payments that succeed between two steps of the upgrade.
BETWEEN = length(short=2, full=40)
MIGRATION = next(iter(GROWN))


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
            for alias, url in (
                ("default", "OWNER_DATABASE_URL"),
                ("bank", "OWNER_BANK_DATABASE_URL"),
            ):
                storage.make_if_missing(settings[url])
                manage(settings, "migrate", "--database", alias, code=before)
        house = TwoOfEach(settings, tmp_path, receiver, before)
        yield house
        house.stop()
    finally:
        servers.stop()


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
    traffic = Traffic(shop, more=BETWEEN)
    traffic.await_more()

    with pytest.raises(AssertionError, match=r"intents\.9999_grown_index"):
        manage(house.settings, "version", code=after)
    migrate_and_die(house.settings, after)
    traffic.await_more()
    manage(house.settings, "migrate", code=after)
    manage(house.settings, "version", code=after)
    said = manage(house.settings, "version", code=before)
    # Those that were added since the last release are newer too.
    assert all(re.search(rf"newer +intents\.{name}\b", said) for name in GROWN), said
    traffic.await_more()
    for kind, at, code in steps(before, after):
        house.replace(kind, at, code)
        traffic.await_more()
    traffic.stop()

    assert_all_is_there(house, shop, receiver, traffic.paid)
    tried(len(traffic.paid), "payments during an upgrade")
    # Planted: a migration that takes away what a process reads is noticed by its payments.
    with psycopg.connect(house.settings["OWNER_DATABASE_URL"]) as owner:
        owner.execute("ALTER TABLE intents_paymentintent DROP COLUMN description CASCADE")
    with pytest.raises(AssertionError, match='"type":"api_error"'):
        shop.pay()
