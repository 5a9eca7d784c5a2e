"""The page `Back up, restore and upgrade on Debian` keeps a host's money, as it is written.

A new Debian follows `Install on Debian`, its bank on a server of its own, and then this page while
a merchant pays: a backup, an upgrade to a release whose schema has grown and the way back, and a
restore to a moment behind which the bank has gone on.
"""

import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stage.debian_shop import (
    AS_MERCHANT,
    CURL,
    FETCHING,
    INSTALL,
    PAYMENT,
    lines,
    pay,
    receive,
    until_ready,
)
from tests.stage.guide_pages import commands
from tests.stage.lengths import IS_FULL, tried
from tests.stage.new_debian import NewDebian, new_host
from tests.stage.releases import GROWN, next_release

STEPS = commands("keep-on-debian")
FETCHED = ("Packages for backups", "Unpack the next release")
# A sandbox's bank in the same server would go back with it.
APART = """
pg_createcluster --port 5433 --start 15 bank
su - postgres --command 'psql --quiet --port 5433 --set ON_ERROR_STOP=1' <<END
CREATE ROLE pay LOGIN PASSWORD '$service';
CREATE DATABASE pay_bank OWNER pay ENCODING 'UTF8' TEMPLATE template0;
ALTER ROLE pay SET lock_timeout = '3s';
ALTER ROLE pay SET idle_in_transaction_session_timeout = '60s';
END
sed --in-place '/^BANK_DATABASE_URL=/s,127.0.0.1/,127.0.0.1:5433/,' /etc/pay/environment
"""
LOST = 3
# Such as E007, of files of another release.
LOOK = "pay-manage check --deploy --database default 2>&1"


def test_the_page_has_no_broken_command() -> None:
    blocks = [block for step in STEPS.values() for block in step]
    for block in blocks:
        read = subprocess.run(["bash", "-n", "-c", block], capture_output=True, text=True)  # noqa: S607
        assert read.returncode == 0, read.stderr
    assert len(blocks) >= 9
    assert all(len(STEPS[step]) == 1 for step in FETCHED)


@pytest.mark.parametrize("step", ["Start the next release", "Go back"])
def test_a_release_starts_with_static_files_of_its_own(step: str) -> None:
    """The names of collected files are one list, which is read at each start."""
    [block] = STEPS[step]
    order = ("ln --symbolic", "pay-manage collectstatic", "systemctl restart pay-web")

    assert sorted(order, key=block.index) == [*order]
    assert not any("collectstatic" in one for one in STEPS["Migrate"])


@pytest.fixture
def host(tmp_path: Path) -> Iterator[NewDebian]:
    with new_host(tmp_path) as host:
        code = next_release(tmp_path / "next")
        (code / "core/version.py").write_text('VERSION = "0.2.0"\n')
        (code / "panel/static/payer_gate.js").write_text("// Another one.\n")
        with tarfile.open(host.root / "root/pay-next.tar.gz", "w:gz") as packed:
            packed.add(code, arcname=".")
        yield host


def follow(host: NewDebian, *steps: str) -> str:
    """Run the page's commands below some headings; return what they print."""
    return "".join(host.run(block) for step in steps for block in STEPS[step])


def installed(host: NewDebian) -> None:
    """Follow the page of the installation, and let a merchant receive webhooks."""
    for block in INSTALL[:FETCHING]:
        host.run(block)
    follow(host, *FETCHED)
    host.start()
    for block in INSTALL[FETCHING:]:
        host.run(block)
        if "> /etc/pay/environment" in block:
            host.run(APART)
    receive(host)


def ids(host: NewDebian) -> list[str]:
    listed = host.run(f"{CURL}/v1/payment_intents?limit=100 {AS_MERCHANT} > all.json; cat all.json")
    return re.findall(r'"id":"(pi_\w+)"', listed.replace(" ", ""))


@pytest.mark.proof(part="install")
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not IS_FULL, reason="./dev prove plays it")
def test_the_page_keeps_the_money_of_a_host(host: NewDebian) -> None:
    installed(host)
    follow(host, "The repository of backups", "A backup each day")
    kept = [pay(host, "kept.json")["id"] for _ in range(2)]
    before = follow(host, "Migrate")
    assert all(f"intents.{name}" in before for name in GROWN), before
    pay(host, "on_the_new_schema.json")
    assert "E007" not in host.run(LOOK)
    follow(host, "Start the next release")
    assert host.run("pay-manage version").startswith("release 0.2.0\n")
    pay(host, "next.json")
    follow(host, "Go back")
    until_ready(host)
    assert host.run("pay-manage version").startswith("release 0.1.0\n")
    pay(host, "back.json")
    assert "E007" not in host.run(LOOK)

    moment = host.run("su - postgres --command 'psql -At --command \"SELECT now()\"'").strip()
    lost = [pay(host, "lost.json")["id"] for _ in range(LOST)]
    restore, compare, open_it = STEPS["Restore to a moment"]
    [written] = re.findall("^moment=.*$", restore, re.M)
    host.run(restore.replace(written, f"moment='{moment}'"))
    until_ready(host)
    found = set(ids(host))
    assert (found >= set(kept), found & set(lost)) == (True, set())
    refused = host.run(
        f"{CURL}/v1/payment_intents {AS_MERCHANT} --json '{PAYMENT}'"
        " --write-out %{http_code} --output refused.json || true"
    )
    assert (refused, lines(host, "refused.json")[0]["error"]["code"]) == (
        "503",
        "upstream_unavailable",
    )
    said = host.run(compare)
    assert said.count("LOST") == LOST, said
    host.run(open_it)
    changes = f"""{CURL}/v1/customers --header \\"Authorization: Bearer $key\\" --json '{{}}'"""
    host.run(f"""timeout 60 bash -c "until {changes}; do sleep 1; done" """)
    pay(host, "again.json")
    _each_payment_of_now_was_delivered(host)
    tried(sum(map(len, STEPS.values())), "blocks of the page")


def _each_payment_of_now_was_delivered(host: NewDebian) -> None:
    expected = {
        line["id"] for file in ("again", "next", "back") for line in lines(host, f"{file}.json")
    }
    paid_events = "grep payment_intent.succeeded received"
    waits = " && ".join(f"{paid_events} | grep --quiet {one}" for one in expected)
    host.run(f"timeout 120 sh -c 'until {waits}; do sleep 0.2; done'")
    events: list[dict[str, Any]] = lines(host, "received")
    paid = [e["data"]["object"]["id"] for e in events if e["type"] == "payment_intent.succeeded"]
    assert expected <= set(paid)
