"""`./dev up`: the whole service in a sandbox, until Ctrl-C."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import NamedTuple

from core import keyring
from devstack import demo, environment, info, migrations, static_files, storage
from devstack.children import ChildEnded, Children, begin, finish
from devstack.console import say, write
from devstack.ports import number_of, take_port
from devstack.processes import Leash
from devstack.servers import Servers
from devstack.state import (
    ROOT,
    CannotContinue,
    only_launcher,
    remembered_secret,
    state_directory,
    sweep,
    wait_for_leftovers,
    write_private,
)

READY_PATIENCE_SECONDS = 60
# Only `migrate` is told of the owner.
OWNERS = {"OWNER_DATABASE_URL", "OWNER_BANK_DATABASE_URL"}
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The launcher was asked to end; raised wherever it happens to be."""


class Ports(NamedTuple):
    """The listening sockets of both servers, which the launcher keeps until it ends."""

    web_listener: socket.socket
    bank_listener: socket.socket

    @property
    def web(self) -> int:
        return number_of(self.web_listener)

    @property
    def bank(self) -> int:
        return number_of(self.bank_listener)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.web}"

    @property
    def bank_url(self) -> str:
        return f"http://127.0.0.1:{self.bank}"


def main() -> int:
    info.speak_utf_8()
    os.environ.setdefault("DEV_STARTED_AT", str(time.time()))
    end_on_signals()
    try:
        state = state_directory()
        with only_launcher(state):
            return _launch(state)
    except CannotContinue as refusal:
        say("dev", str(refusal))
        return 1
    except Stopped:
        return 0


def end_on_signals() -> None:
    """Let Ctrl-C and its like raise `Stopped`, once."""
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)


def _stop(*_: object) -> None:
    # Asked once is enough: a second Ctrl-C must not break off the stopping.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Stopped


def require_unstopped() -> None:
    """Raise `Stopped` if a signal asked for the end and its exception was lost.

    Python drops an exception that is raised while it finalises an object.

    :raises Stopped: the end was asked for.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise Stopped


def _launch(state: Path) -> int:
    """Run the sandbox until a signal or a dead process ends it; leave nothing running."""
    with wait_for_leftovers(state) as lock:
        leash = Leash(lock)
    sweep()
    servers = Servers.lasting()
    children = Children(leash)
    try:
        _start(state, servers, children)
        children.watch()
    except ChildEnded as end:
        say("dev", f"{end}; stopping the rest")
        return 1
    except CannotContinue as refusal:
        say("dev", str(refusal))
        return 1
    except Stopped:
        return 0
    finally:
        began = time.monotonic()
        (state / "running.json").unlink(missing_ok=True)
        children.stop()
        servers.stop()
        leash.release()
        say("dev", f"stopped in {time.monotonic() - began:.1f}s")


def _start(state: Path, servers: Servers, children: Children) -> None:
    say("dev", "starting databases, API, simulated bank and workers ...")
    ports = Ports(
        take_port(variable="PORT", first=8000), take_port(variable="BANK_PORT", first=8100)
    )
    places = storage.open_storage(servers, os.environ)
    children.adopt(servers.processes)
    ours = environment.sandbox(
        places,
        base_url=ports.base_url,
        bank_url=ports.bank_url,
        secret_key=remembered_secret(state / "secret_key", length_bytes=32),
        keyring_file=state / "keyring",
    )
    hosts = os.environ.get("WEBHOOK_DEV_HOSTS", demo.SHOP_AT)
    ours["WEBHOOK_DEV_HOSTS"] = hosts
    everything = {**os.environ, **ours, "PYTHONUNBUFFERED": "1"}
    _provide_keys(state / "keyring", places, everything)
    migrate(places, everything)
    collect_static_files(everything)
    everything = {name: value for name, value in everything.items() if name not in OWNERS}
    # The pages of documentation show the demo merchant's key.
    start_web(children, ports.web_listener, everything | {"DEMO_FILE": str(state / "demo.json")})
    start_bank(children, ports.bank_listener, everything)
    wait_until_ready(children, [f"{ports.base_url}/healthz", f"{ports.bank_url}/healthz"])
    # Only now: five interpreters that start at once would delay the first payment.
    _start_workers(children, state, everything)
    merchant = demo.merchant(
        state / "demo.json",
        base_url=ports.base_url,
        webhook_hosts=hosts,
        mail_directory=environment.mail_directory(state),
        create=lambda: finish(begin(demo.CREATE_MERCHANT, everything)),
    )
    _open_door(state / "door", merchant["merchant_id"], everything)
    write_private(state / "running.json", json.dumps({"environment": ours}))
    _greet(merchant, state)
    # Last, and with the lowest priority: it takes some seconds, and the first payment none.
    children.start_beside("docs", ["docsite", "--if-changed", "--patiently"], everything)


def _open_door(known: Path, merchant_id: str, everything: dict[str, str]) -> None:
    """Lead the demo merchant's payments to the bank's door of `DEMO_ACQUIRER`.

    :param known: the file that has the door of the last start; without it, it was the sandbox's.
    """
    before = known.read_text() if known.exists() else demo.DOOR
    door = os.environ.get("DEMO_ACQUIRER", demo.DOOR)
    # The bank's port may be another one each time.
    if (before, door) != (demo.DOOR, demo.DOOR):
        finish(begin(["bank", "door", door, "--merchant", merchant_id], everything))
        write_private(known, door)


def _provide_keys(path: Path, places: storage.Storage, everything: dict[str, str]) -> None:
    """Make the key ring, or bring one of an earlier version to this one."""
    try:
        if not path.exists():
            finish(begin(["create_keyring", path], everything))
            return
        if not keyring.is_wrapped(path):
            finish(begin(["keyring", "wrap"], everything))
        if keyring.missing_purposes(path, kek_file=environment.kek_file(path)):
            # It asks the database whether rows were made with what is missing.
            storage.make_if_missing(places.owners_urls[0])
            finish(begin(["keyring", "add-purpose"], everything))
    except keyring.KeyRingError as error:
        raise CannotContinue(str(error)) from error


def migrate(places: storage.Storage, everything: dict[str, str], *, root: Path = ROOT) -> None:
    """Bring both databases, made if they are missing, to the migrations of the code in a directory.

    :raises CannotContinue: a database was made by other migrations, or cannot be migrated.
    """
    urls = places.owners_urls
    for url in urls:
        storage.make_if_missing(url)
        migrations.compare(url, root)
    # Django's checks load every page; `./dev check` makes them.
    migrating = [
        ["migrate", "-v0", "--skip-checks", "--database", alias] for alias in ("default", "bank")
    ]
    running = [begin(command, everything, root=root) for command in migrating]
    try:
        for command in running:
            finish(command)
    except CannotContinue as refusal:
        raise CannotContinue(
            f"{refusal}\n\nWere migrations regenerated? Then run ./dev reset"
        ) from None
    finally:
        # After a failure too: what was applied before it is applied.
        for url in urls:
            migrations.remember(url, root)


def collect_static_files(everything: dict[str, str]) -> None:
    """Put the pages' files where the web process serves them from, if one of them changed."""
    command = ["collectstatic", "--noinput", "-v0"]
    static_files.collect_if_changed(
        Path(everything["STATIC_ROOT"]), lambda: finish(begin(command, everything))
    )


def start_web(
    children: Children,
    listener: socket.socket,
    everything: dict[str, str],
    *,
    application: str = "config.wsgi",
) -> None:
    command = ["gunicorn", "-c", "config/gunicorn.py", application]
    told = everything | {"WEB_BIND": f"fd://{listener.fileno()}"}
    children.start("web", command, told, listener=listener)


def start_bank(
    children: Children,
    listener: socket.socket,
    everything: dict[str, str],
    *,
    application: str = "testbank.wsgi",
) -> None:
    command = ["gunicorn", "-c", "testbank/gunicorn.py", application]
    told = everything | {"BANK_BIND": f"fd://{listener.fileno()}"}
    children.start("bank", command, told, listener=listener)


def _start_workers(children: Children, state: Path, everything: dict[str, str]) -> None:
    # In a container everything runs as root, and Celery would say at length what is wrong with it.
    quiet = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}
    everything = everything | quiet
    celery = ["celery", "-q", "-A", "config"]
    # Deliveries: one process that sends many at once.
    pools = {"default": ["-c", "2"], "webhooks": ["--pool", "solo"]}
    for name, queue in (("worker", "default"), ("hooks", "webhooks")):
        options = ["-Q", queue, "-n", f"{queue}@%h", *pools[queue], "--without-gossip"]
        children.start(name, [*celery, "worker", *options, "--without-mingle"], everything)
    # No pid file: one left by a killed beat would stop the next from starting.
    beat = [*celery, "beat", "-s", str(state / "beat-schedule"), "--pidfile="]
    children.start("beat", beat, everything)


def wait_until_ready(children: Children, addresses: list[str]) -> None:
    """:raises ChildEnded: one of the processes is not there.

    :raises CannotContinue: an address does not answer in time.
    """
    deadline = time.monotonic() + READY_PATIENCE_SECONDS
    for address in addresses:
        while demo.status_of(address) != 200:
            children.check()
            if time.monotonic() > deadline:
                raise CannotContinue(f"{address} does not answer 200.")
            time.sleep(0.05)


def _greet(merchant: dict[str, str], state: Path) -> None:
    seconds = time.time() - float(os.environ["DEV_STARTED_AT"])
    write(
        f"\nReady after {seconds:.1f}s. Ctrl-C stops everything; ./dev info prints this again.\n\n"
        f"{info.greeting(merchant, state)}"
    )


if __name__ == "__main__":
    sys.exit(main())
