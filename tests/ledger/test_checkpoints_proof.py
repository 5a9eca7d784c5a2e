"""Many entries: the job is killed anywhere, beside a transaction that commits late; and a dump."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models import Sum

from audit import balances
from bench import ledger_fill
from devstack import binaries
from devstack.servers import Servers
from ledger import balance, checkpoints
from ledger.models import Boundary, Checkpoint, LedgerEntry
from merchants.models import Merchant
from tests.stage.database_role import owners_address
from tests.stage.factories import MerchantFactory
from tests.stage.journal_writers import open_accounts, topup, writing
from tests.stage.lengths import length, tried
from tests.stage.own_servers import run as run_on
from tests.stage.processes import begin, run

pytestmark = [
    pytest.mark.proof(part="ledger"),
    pytest.mark.timeout(1800),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

COUNT = length(short=20_000, full=1_000_000)
CHUNK = length(short=1_000, full=checkpoints.CHUNK)
KILLED_AT = (0.3, 0.7)
PATIENCE_SECONDS = 900
RUN = f"""
import django
django.setup()
from ledger import checkpoints
from ledger.models import Boundary, LedgerEntry
from tests.stage.database_role import owners_address
checkpoints.CHUNK = {CHUNK}
while True:
    checkpoints.advance()
    if Boundary.objects.get().reached >= LedgerEntry.objects.latest("id").id:
        break
"""
# Takes so many numbers of transactions, each of which has ended.
SPEND = """
DO $$ BEGIN
    FOR i IN 1..%s LOOP
        PERFORM pg_current_xact_id();
        COMMIT;
    END LOOP;
END $$
"""


@pytest.fixture
def merchant() -> Merchant:
    return open_accounts(MerchantFactory())


def wrong() -> list[str]:
    return [said for check in balances.CHECKS for said in check().differences]


def reached() -> int:
    row = Boundary.objects.first()
    return row.reached if row else 0


def kill_at(entry: int) -> int:
    """Start the job, kill it once it has added an entry, and return how far it came."""
    process = begin("-c", RUN)
    while reached() < entry:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.kill()
    process.communicate()
    return reached()


def fill(merchant: Merchant, *, first: int = 1) -> int:
    """Write many entries: a half of them this merchant's, the others those of ten.

    :param first: the number of the first charge; returns that of the next.
    """
    entries = {merchant.id: COUNT // 2}
    entries |= {MerchantFactory().id: COUNT // 20 for _ in range(10)}
    return ledger_fill.fill(entries, first=first, is_new=True)


def summed(merchant: Merchant) -> dict[str, int]:
    """Return what the merchant's entries sum to, by account."""
    sums = (
        LedgerEntry.objects.filter(merchant=merchant).values_list("account").annotate(Sum("amount"))
    )
    return {account: int(amount) for account, amount in sums}


def test_the_job_is_killed_twice_beside_a_transaction_that_commits_late(merchant: Merchant) -> None:
    with writing() as late:
        late.topup(merchant, 7777)
        fill(merchant)
        first, newest = LedgerEntry.objects.earliest("id").id, LedgerEntry.objects.latest("id").id
        for _ in range(2):
            checkpoints.advance()
        held = reached()
        late.commit()

    came = [kill_at(first + int((newest - first) * part)) for part in KILLED_AT]
    half_way = wrong()
    status, said = run("-c", RUN, patience_seconds=PATIENCE_SECONDS)

    print(f"{held} reached beside it; killed at {came} of {newest}")  # noqa: T201
    tried(LedgerEntry.objects.count(), "entries added by jobs that were killed")
    assert status == 0, said
    assert held < first + COUNT
    assert half_way == wrong() == []
    assert reached() == newest
    sums = Checkpoint.objects.filter(merchant=merchant).values_list("account_id", "sum")
    assert dict(sums) == summed(merchant)
    assert (
        balance.funds(merchant.id, "try").available
        == summed(merchant)[f"{merchant.id}.try.available"]
    )


# --- A dump, restored into another cluster -----------------------------------------------------


def spend(address: str, transactions: int) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(SPEND % transactions)  # type: ignore[arg-type]


def address_of(alias_host: str, database: str) -> str:
    return f"postgresql://app@/{database}?host={alias_host}"


def restore(servers: Servers, dumped: Path) -> str:
    """Restore a dump into an empty database of another cluster; return its address."""
    restored = servers.owners_address("restored")
    with psycopg.connect(servers.owners_address("postgres"), autocommit=True) as other:
        other.execute("CREATE DATABASE restored TEMPLATE template0")
    program("pg_restore", "--exit-on-error", "-d", restored, str(dumped))
    return restored


def program(name: str, *arguments: str) -> None:
    command = [binaries.postgres_bin() / name, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PGUSER": "app"}
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("further", ["the source", "the target"])
def test_a_dump_goes_on_in_a_cluster_with_other_numbers(
    further: str,
    merchant: Merchant,
    own_servers: Servers,
    own_settings: dict[str, str],
    tmp_path: Path,
) -> None:
    spent = length(short=50_000, full=500_000)
    source = address_of(
        connection.get_connection_params()["host"], connection.settings_dict["NAME"]
    )
    # The source may have spent as many for the other case.
    ahead = source, spent
    if further == "the target":
        ahead = own_settings["DATABASE_URL"], 3 * spent
    spend(*ahead)
    fill_half_added(merchant)
    dumped = tmp_path / "dump"

    with writing() as open_at_the_dump:
        open_at_the_dump.topup(merchant, 500)
        topup(merchant, 20)
        checkpoints.advance()  # It notes a boundary above the open transaction's entries.
        waiting = Boundary.objects.get()
        program("pg_dump", "-Fc", "-f", str(dumped), "-d", owners_address())
        numbers = {"source": newest_number(source)}
        open_at_the_dump.commit()
    before = balance.funds(merchant.id, "try").available - 500
    settings = {**own_settings, "DATABASE_URL": restore(own_servers, dumped)}
    told = json.loads(run_on(settings, "-m", "tests.stage.restored_ledger", merchant.id))

    steps: dict[str, Any] = told["steps"]
    print(f"the source was at transaction {numbers['source']}, the target at {told['number']}")  # noqa: T201
    tried(LedgerEntry.objects.count(), "entries in a dump that was restored")
    assert (told["number"] < numbers["source"]) == (further == "the source")
    assert waiting.reached < waiting.next == steps["restored"]["next"]
    assert [step["differences"] for step in steps.values()] == [[], [], []]
    assert [step["available"] for step in steps.values()] == [before, before + 1, before + 1001]
    # Entries of the dump were added at once; those of the open transaction, when it had ended.
    assert steps["held"]["reached"] == waiting.next
    assert steps["committed"]["reached"] == steps["committed"]["newest"]


def fill_half_added(merchant: Merchant) -> None:
    """Write many entries, of which the job adds a part before it is killed."""
    later = fill(merchant)
    checkpoints.advance()
    newest = LedgerEntry.objects.latest("id").id
    fill(merchant, first=later)
    kill_at(newest + COUNT // 2)


def newest_number(address: str) -> int:
    with psycopg.connect(address) as other:
        [[number]] = other.execute("SELECT pg_current_xact_id()::text::bigint")
    return int(number)
