"""A command that a signal ends: nothing half done, one sentence, and the same command again ends.

Processes of the service are in test_quit.py and in webhooks/test_drain_process.py.
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings as django_settings
from django.db import connection

from acquirers.models import Terminal
from acquirers.settlement import COLUMNS as SETTLEMENT_COLUMNS
from core import heartbeat, installation, keyring, marks
from core.keyring.file import stored_in
from core.models import Installation
from core.stop_signals import STOP_SIGNALS
from devstack.state import ROOT
from merchants import keys, sign_in
from merchants.models import ApiKey, AuditEntry, Merchant, User
from payments.installments import bin_imports
from payments.installments.bin_files import COLUMNS as BIN_COLUMNS
from payments.installments.models import BinImport
from payments.risk.models import ListEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.key_change import change_key, seal_many
from tests.stage.kills import until
from tests.stage.lengths import length, tried
from tests.stage.proxies import stand_before_the_service
from tests.stage.stopped import begun, ended, sleep_in_the_database, stopped
from tests.stage.web_process import PATIENCE_SECONDS, environment
from vault import peers

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

SENTENCE = "Ended by {} before it was done: run it again."
# SIGQUIT itself would write a core, which has keys in it.
STATUS = {number: -number for number in STOP_SIGNALS} | {signal.SIGQUIT: 128 + signal.SIGQUIT}
SLEEPING = """
    SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(3600)' AND state = %s
"""
WHY = ("--reason", "asked")
PRICES = '[{"currency": "try", "bps": 250, "fixed": 25}]'


class Host:
    """An installation with a merchant, an operator, and files for commands.

    Its key ring has an unused key and a retired one besides those that have sealed cards.
    """

    def __init__(self, acme: ApiClient, directory: Path) -> None:
        self.acme, self.directory, self.ring = acme, directory, django_settings.KEYRING_FILE
        self.unused, self.retired = (keyring.add(self.ring) for _ in range(2))
        keyring.retire(self.ring, self.retired)
        self.kek = stored_in(self.ring)["kek"]
        self.key, _secret = keys.create(acme.merchant, name="Second")
        self.operator = User.objects.create_superuser("ops@pay.example", "a long enough password")
        sign_in.count(self.operator.email)
        acme.pay()
        row = "460346,visa,credit,TR,Test Bank,bonus,false,false"
        self._write("bins.csv", ",".join(BIN_COLUMNS), row)
        self._write("bank.csv", ",".join(SETTLEMENT_COLUMNS))
        self._write("key", acme.key)

    def words(self, line: str) -> list[str]:
        names = {
            "MERCHANT": self.acme.merchant.id, "KEY": self.key.id, "OPERATOR": self.operator.email,
            "BINS": str(self.directory / "bins.csv"), "LINES": str(self.directory / "bank.csv"),
            "RING": str(self.ring.parent / "another"), "PRICES": PRICES,
            "UNUSED": self.unused, "RETIRED": self.retired, "KEY_FILE": str(self.directory / "key"),
        }  # fmt: skip
        return [names.get(word, word) for word in line.split()]

    def _write(self, name: str, *lines: str) -> None:
        (self.directory / name).write_text("".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Done:
    """Rows of the audit log, and others, that a command adds once it is done; its exit code.

    :param before: makes what the command needs.
    """

    audited: int
    others: Callable[[Host], int] = lambda _host: 0
    added: int = 0
    status: int = 0
    before: Callable[[Host, pytest.MonkeyPatch], None] = lambda _host, _patch: None


def rows_of(model: Any) -> Callable[[Host], int]:
    return lambda _host: model.objects.count()


def keys_of_ring(host: Host) -> int:
    return len(keyring.load(host.ring).held)


def rings(host: Host) -> int:
    return len([*host.ring.parent.glob("another")])


def retired_keys(host: Host) -> int:
    return len(keyring.load(host.ring).retired)


def is_primary(host: Host) -> int:
    return keyring.load(host.ring).primary == host.unused


def is_wrapped_again(host: Host) -> int:
    return stored_in(host.ring)["kek"] != host.kek


def active_version(_host: Host) -> int:
    return BinImport.objects.get(is_active=True).pk


def backups(_host: Host) -> int:
    return Installation.objects.exclude(backup_made_at=None).count()


def held(_host: Host) -> int:
    return Installation.objects.exclude(held_at=None).count()


def import_twice(host: Host, _patch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        with (host.directory / "bins.csv").open("rb") as file:
            bin_imports.import_file(file)


def begin_beat(host: Host, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(django_settings, "MARK_FILE", host.directory / "mark")
    with closing(heartbeat._connected()) as raw:
        marks.keep(raw)


def restore(host: Host, patch: pytest.MonkeyPatch) -> None:
    begin_beat(host, patch)
    with closing(heartbeat._connected()) as raw:
        installation.hold(raw, "A test.")


def stand_before_the_page(_host: Host, patch: pytest.MonkeyPatch) -> None:
    stand_before_the_service(patch)


READS = Done(0)
COMMANDS = {
    "create_merchant --name N --email n@n.example --website n.example":
        Done(4, rows_of(Merchant), 1),
    "create_key MERCHANT": Done(1, rows_of(ApiKey), 1),
    "revoke_key KEY --reason lost": Done(1),
    "merchant limits MERCHANT --currency try --per-day 5000 --reason asked": Done(1),
    "merchant prices MERCHANT PRICES --reason asked": Done(1),
    "holidays add TR 2027-03-12 --reason asked": Done(1),
    "risk_list add block bin 424242 --reason asked --as OPERATOR": Done(1, rows_of(ListEntry), 1),
    "import_bins BINS": Done(1, rows_of(BinImport), 1),
    "import_bins --undo": Done(1, active_version, -1, before=import_twice),
    "unlock_sign_in OPERATOR --reason asked": Done(1),
    "createsuperuser --noinput --email s@pay.example": Done(1, rows_of(User), 1),
    "acquirer set new": Done(1, rows_of(Terminal), 1),
    "acquirer drain sandbox": Done(1),
    "keyring add": Done(1, keys_of_ring, 1),
    "keyring promote UNUSED": Done(1, is_primary, 1),
    "keyring remove UNUSED": Done(1, retired_keys, 1),
    "keyring purge RETIRED": Done(1, keys_of_ring, -1),
    "keyring wrap": Done(1, is_wrapped_again, 1),
    "create_keyring RING": Done(0, rings, 1),
    "vault_rotate": READS,
    "migrate -v0 --skip-checks": READS,
    "check --database default": READS,
    "audit": READS,
    "reconcile LINES": READS,
    "verify_audit_log": READS,
    "status": Done(0, status=1),  # No process of the service runs.
    "check_money": Done(0, status=1),  # No daily run happened.
    "backup_made": Done(0, backups, 1, before=begin_beat),
    "after_restore compare": Done(0, before=restore),
    "after_restore open --reason compared-by-telephone": Done(1, held, -1, before=restore),
    "check_payment_page --key-file KEY_FILE": Done(0, before=stand_before_the_page),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_signal_is_ignored() -> Iterator[None]:
    """A run of the tests in the background ignores some, and commands leave ignored ones so."""
    ignored = [number for number in STOP_SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def host(
    acme: ApiClient, bank: BankTransport, tmp_path: Path, settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Host:  # fmt: skip
    (tmp_path / "ring").mkdir()
    settings.KEK_FILE = Path(shutil.copy(settings.KEK_FILE, tmp_path / "ring" / "kek"))
    monkeypatch.setattr(peers, "HEAR_SECONDS", 0)
    change = change_key(settings, tmp_path / "ring")
    seal_many(acme.merchant, 3)
    change.promote_and_restart()
    import_module(settings.ROOT_URLCONF)  # Once, and not in each fork.
    return Host(acme, tmp_path)


@pytest.mark.dear("a command begins for each signal that it is sent")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_that_a_signal_ends_is_done_or_not_and_may_be_run_again(
    host: Host, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, done = host.words(line), COMMANDS[line]
    done.before(host, monkeypatch)
    given = '{"kind": "sandbox"}' if "set" in words else ""
    undone = state(host, done)
    step, signals = 1, 0
    for number in cycle(STOP_SIGNALS):
        end = stopped(host.directory, words, number, step=step, given=given)
        if end.status != STATUS[number]:
            break  # It was done before the step.
        assert end.err.splitlines()[-1] == SENTENCE.format(number.name), end.err
        assert "Traceback" not in end.err
        signals += 1
        if state(host, done) != undone:
            break
        step = length(short=step * 4, full=step + 1 + step // 8)

    assert end.status in (done.status, STATUS[number]), end.err
    assert "Traceback" not in end.err, end.err
    assert state(host, done) == (undone[0] + done.audited, undone[1] + done.added)
    if not line.startswith("create_merchant"):  # Its first statement is part of its change.
        tried(signals, "commands that a signal ended")


@pytest.mark.dear("a command begins for each signal that it is sent")
@pytest.mark.parametrize(
    ("line", "shown"), [("create_key MERCHANT", "sk_"), ("keyring add", "Added k_")]
)
def test_a_command_whose_change_is_made_goes_to_its_end(host: Host, line: str, shown: str) -> None:
    words, steps = host.words(line), length(short=range(1, 60, 9), full=range(1, 60))
    undone = state(host, COMMANDS[line])
    ends = [stopped(host.directory, words, signal.SIGTERM, step=step) for step in steps]

    made = [end for end in ends if end.status == 0]
    assert all(shown in end.out for end in made)
    assert {end.status for end in ends} == {0, -signal.SIGTERM}
    assert state(host, COMMANDS[line]) == (undone[0] + len(made), undone[1] + len(made))


def state(host: Host, done: Done) -> tuple[int, int]:
    return AuditEntry.objects.count(), done.others(host)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_statement_of_a_command_that_a_signal_ends_goes_on_in_no_session(
    host: Host, number: int
) -> None:
    child = begun(host.directory, ["verify_audit_log"], sleep_in_the_database, step=2)
    until(sleeping)

    os.kill(child, number)

    assert ended(host.directory, child).status == STATUS[signal.Signals(number)]
    assert sleeping() == 0


def sleeping() -> int:
    with connection.cursor() as cursor:
        cursor.execute(SLEEPING, ["active"])
        return int(cursor.fetchone()[0])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_terminal_that_was_asked_for_a_secret_shows_again_what_is_typed(
    host: Host, number: int
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "manage.py", "changepassword", host.operator.email, *WHY]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=theirs, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    assert os.read(process.stderr.fileno(), 100)  # The question is asked, and then read its answer.
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)
    assert not shows(theirs)

    process.send_signal(number)

    try:
        _out, err = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert process.returncode == STATUS[signal.Signals(number)]
    assert err.splitlines()[-1] == SENTENCE.format(signal.Signals(number).name)
    assert "Traceback" not in err
    assert shows(theirs)
    for end in (ours, theirs):
        os.close(end)


def shows(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
