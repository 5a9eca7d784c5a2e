import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import psycopg
import pytest

from devstack import demo, migrations, ports, state, storage
from devstack.servers import OWNER
from devstack.state import ROOT, CannotContinue
from tests.stage.database_role import THE_SERVICES_ROLE, rights
from tests.stage.service import RunningService, still_running

LOCKS = ["requirements.txt", "requirements-up.txt", "requirements-dev.txt"]
LAUNCHERS = 8


# --- The whole service ----------------------------------------------------------------------


@pytest.fixture
def running_service(tmp_path):
    service = RunningService(tmp_path / "state")
    try:
        service.start()
        yield service
    finally:
        if service.launcher.poll() is None:
            service.stop()
        service.call("reset")


def await_every_process(service):
    """Wait until each has written down that it lives, and which key it seals with."""
    deadline, kinds = time.monotonic() + 60, []
    while sorted(kinds) != ["beat", "sender", "web", "web", "worker"]:
        assert time.monotonic() < deadline, kinds
        shown = service.call("run", sys.executable, "manage.py", "keyring", "show").stdout
        kinds = re.findall(r"^(\w+) on .*: seals with k_\w+$", shown, re.MULTILINE)


@pytest.mark.slow
def test_up_works_as_it_says_until_ctrl_c(running_service):
    printed = running_service.log.read_text()
    assert running_service.answers()
    assert running_service.base_url in printed
    assert running_service.demo["curl"] in printed
    assert running_service.demo["pay_url"] in printed
    assert (running_service.state / "demo.json").stat().st_mode & 0o777 == 0o600

    second, reset = running_service.call("up"), running_service.call("reset")
    assert (second.returncode, reset.returncode) == (1, 1)
    assert "already running" in second.stdout
    assert "already running" in reset.stderr
    assert running_service.answers()

    addresses = running_service.call("run", "sh", "-c", "echo $DATABASE_URL $BANK_DATABASE_URL")
    for address in addresses.stdout.split():
        with psycopg.connect(address) as connection, connection.cursor() as cursor:
            assert rights(cursor) == THE_SERVICES_ROLE
            # Only the tests' servers let it become the owner.
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                cursor.execute(f"SET ROLE {OWNER}")

    run = running_service.call("run", "sh", "-c", "printf %s $BASE_URL; exit 3")
    assert (run.returncode, run.stdout) == (3, running_service.base_url)

    shown = running_service.call("info")
    assert shown.stdout.strip() in printed
    assert status_of_page(running_service) == 203
    ended = running_service.post(
        f"{demo.SESSIONS}/{running_service.demo['checkout_session']}/expire"
    )
    assert ended["status"] == "expired"
    again = running_service.call("info")
    assert running_service.demo["pay_url"] in again.stdout
    assert running_service.demo["pay_url"] not in printed
    assert status_of_page(running_service) == 203
    hosts = running_service.call("run", "sh", "-c", "printf %s $WEBHOOK_DEV_HOSTS").stdout
    assert hosts == "localhost:3000" in shown.stdout

    await_every_process(running_service)

    processes = running_service.processes()
    assert running_service.stop() == 0
    assert still_running(processes, after_seconds=0) == []
    assert not (running_service.state / "running.json").exists()


@pytest.mark.slow
def test_after_a_kill_nothing_is_left_and_the_next_up_finds_its_data(running_service):
    key, processes = running_service.key, running_service.processes()
    assert len(processes) > 10
    paid = running_service.first_payment()
    assert paid["status"] == "succeeded"

    running_service.kill()

    assert running_service.call("run", "true").returncode == 1
    assert still_running(processes, after_seconds=120) == []
    running_service.start()
    assert running_service.answers()
    assert running_service.key == key
    assert running_service.get(f"/v1/payment_intents/{paid['id']}") == paid
    # Less the sandbox's fee: 250 basis points and 25.
    assert running_service.get("/v1/balance")["pending"] == [{"amount": 12162, "currency": "try"}]
    assert [event["type"] for event in running_service.get("/v1/events")["data"]] == [
        "payment_intent.succeeded",
        "payment_intent.created",
        # Of the page to pay on, which the second start finds open.
        "payment_intent.created",
    ]

    # When one of the processes dies, all others stop, and the log says which one it was.
    processes = running_service.processes()
    running_service.process("celery", "beat").kill()
    assert running_service.wait(150) == 1
    assert "beat ended with status -9" in running_service.log.read_text()
    assert still_running(processes, after_seconds=60) == []


def status_of_page(service):
    """Return the status of the page to pay on; 203 is a form for a card."""
    return demo.status_of(service.demo["pay_url"])


# --- The demo -------------------------------------------------------------------------------


LOSES_A_SIGNAL = """
import os, signal
from devstack import up
class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
up.end_on_signals()
up.require_unstopped()
Finalised()
print("lost")
try:
    up.require_unstopped()
except up.Stopped:
    print("found")
"""


def test_a_signal_whose_exception_was_lost_is_found():
    told = subprocess.run([sys.executable, "-c", LOSES_A_SIGNAL], capture_output=True, text=True)

    assert told.stdout.split() == ["lost", "found"], told.stderr


def test_the_printed_command_is_one_shell_command_with_the_payment():
    words = shlex.split(demo.curl("http://127.0.0.1:8000", "sk_test_1").replace("\\\n", " "))

    assert words[:2] == ["curl", "http://127.0.0.1:8000/v1/payment_intents"]
    assert json.loads(words[-1]) == demo.first_payment()


def test_a_demo_key_that_no_longer_works_is_replaced(tmp_path):
    kept = dict.fromkeys(demo.KEPT, "old")
    (tmp_path / "demo.json").write_text(json.dumps(kept))
    fresh = json.dumps(dict.fromkeys(demo.KEPT, "new"))

    # Nothing answers on port 1, so the old key is not accepted.
    demo.merchant(
        tmp_path / "demo.json",
        base_url="http://127.0.0.1:1",
        webhook_hosts="",
        mail_directory=tmp_path,
        create=lambda: fresh,
    )

    assert json.loads((tmp_path / "demo.json").read_text())["secret_key"] == "new"


# --- Databases and migrations ---------------------------------------------------------------


@pytest.fixture
def scratch_url():
    base = os.environ.get("OWNER_DATABASE_URL", "")
    url = base.replace("/app?", "/devstack_scratch?")
    if url == base:
        pytest.skip("needs the embedded server")
    storage.make_if_missing(url)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE django_migrations (app text, name text)")
        connection.execute("INSERT INTO django_migrations VALUES ('shop', '0001_initial')")
    yield url
    with psycopg.connect(base.replace("/app?", "/postgres?"), autocommit=True) as connection:
        connection.execute("DROP DATABASE devstack_scratch")


@pytest.fixture
def migration(tmp_path):
    file = tmp_path / "shop" / "migrations" / "0001_initial.py"
    file.parent.mkdir(parents=True)
    file.write_text("# as applied")
    return file


def test_an_added_migration_is_no_reason_to_reset(scratch_url, migration, tmp_path):
    migrations.remember(scratch_url, tmp_path)

    migration.with_name("0002_more.py").write_text("# added")

    migrations.compare(scratch_url, tmp_path)


def test_a_regenerated_migration_asks_for_a_reset(scratch_url, migration, tmp_path):
    migrations.remember(scratch_url, tmp_path)

    migration.write_text("# regenerated")

    with pytest.raises(CannotContinue, match="made by other migrations: run ./dev reset"):
        migrations.compare(scratch_url, tmp_path)


def test_the_banks_database_lies_beside_ones_own():
    bank = storage.bank_address("postgresql://me:pw@db.example:5433/shop?sslmode=require")

    assert bank == "postgresql://me:pw@db.example:5433/shop_bank?sslmode=require"


def test_a_database_that_cannot_be_reached_is_named_without_its_password():
    with pytest.raises(CannotContinue, match=r"127\.0\.0\.1/shop does not answer") as refusal:
        storage.make_if_missing("postgresql://me:hunter2@127.0.0.1:1/shop")

    assert "hunter2" not in str(refusal.value)


# --- Ports ----------------------------------------------------------------------------------


@pytest.fixture
def taken_port():
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        yield stranger.getsockname()[1]


def test_a_taken_port_moves_on(taken_port):
    with ports.take_port(variable="SOME_PORT", first=taken_port) as listener:
        assert ports.number_of(listener) > taken_port


def test_a_taken_port_that_was_asked_for_is_refused(taken_port, monkeypatch):
    monkeypatch.setenv("SOME_PORT", str(taken_port))

    with pytest.raises(CannotContinue, match=f"Port {taken_port} is in use"):
        ports.take_port(variable="SOME_PORT", first=8000)


def test_launchers_that_start_at_once_get_ports_of_their_own(taken_port):
    together = Barrier(LAUNCHERS)

    def take(_launcher):
        together.wait()
        return ports.take_port(variable="SOME_PORT", first=taken_port)

    with ThreadPoolExecutor(LAUNCHERS) as pool, ExitStack() as kept:
        listeners = [kept.enter_context(listener) for listener in pool.map(take, range(LAUNCHERS))]
        assert len(set(map(ports.number_of, listeners))) == LAUNCHERS


# --- Directories ----------------------------------------------------------------------------


def test_only_old_directories_that_nobody_uses_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "SHORT", tmp_path)
    names = ("devstack-old", "devstack-used", "devstack-fresh", "somebody-elses")
    old, used, fresh, strange = (tmp_path / name for name in names)
    for directory in (old, used, fresh, strange):
        directory.mkdir()
    with state.in_use_lock(used):
        two_days_ago = time.time() - 2 * state.ONE_DAY_SECONDS
        for directory in (old, used, strange):
            os.utime(directory, (two_days_ago, two_days_ago))

        state.sweep()

    assert [path.exists() for path in (old, used, fresh, strange)] == [False, True, True, True]


def test_a_secret_is_made_once_and_only_its_owner_reads_it(tmp_path):
    first = state.remembered_secret(tmp_path / "secret", length_bytes=16)

    assert state.remembered_secret(tmp_path / "secret", length_bytes=16) == first
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


# --- The locks ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_a_hash_for_everything_and_no_address(name):
    text = (ROOT / name).read_text()

    assert "://" not in text
    assert "index-url" not in text
    assert text.count("==") > 10
    for requirement in re.split(r"^(?=\w)", text, flags=re.M)[1:]:
        assert "--hash=sha256:" in requirement


def test_each_lock_holds_the_one_before_it():
    production, up, dev = (
        set(re.findall(r"^\S+==\S+", (ROOT / n).read_text(), re.M)) for n in LOCKS
    )

    assert production < up < dev


def test_the_embedded_servers_are_never_in_production():
    production = (ROOT / "requirements.txt").read_text()

    assert "pgserver" not in production
    assert "valkey" not in production
