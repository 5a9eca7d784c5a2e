"""A command that finds no database says so in one sentence, without a traceback or a report."""

import re
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError
from psycopg import errors

from config import deployment
from devstack.state import ROOT
from tests.stage.own_ports import refusing_port
from tests.stage.processes import run

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Arguments of each command of the page; they name nothing that is there. `FILE` is an empty file.
ARGUMENTS = {
    "acquirer": "list",
    "after_restore": "compare",
    "audit": "",
    "backup_made": "",
    "changepassword": "ada@pay.example",
    "check": "--deploy --database default",
    "check_money": "",
    "create_key": "mer_none",
    "create_merchant": "--name Acme --email ada@pay.example",
    "createsuperuser": "--noinput --email ada@pay.example",
    "holidays": "show TR 2026",
    "import_bins": "--undo",
    "keyring": "show",
    "merchant": "list",
    "migrate": "",
    "reconcile": "FILE",
    "revoke_key": "key_none",
    "risk_list": "show",
    "status": "",
    "unlock_sign_in": "ada@pay.example",
    "vault_rotate": "",
    "verify_audit_log": "",
    "version": "",
}
# Two ask the database for nothing; a sender waits until it is back.
WITHOUT = {"create_keyring", "check_payment_page", "deliver_webhooks"}
FEW = ("status", "audit", "create_key", "after_restore")


def listed() -> set[str]:
    page = (ROOT / "docs/operate/commands.md").read_text()
    table = page.partition("| command |")[2].partition("\nOf Django's own")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.M))


def test_every_command_of_the_page_is_tried() -> None:
    assert listed() == {*ARGUMENTS, *WITHOUT}
    assert len(ARGUMENTS) > 20


@pytest.mark.every_case("each command has its own way to the database")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=[] if name in FEW else [pytest.mark.slow])
        for name in sorted(ARGUMENTS)
    ],
)
def test_a_command_without_a_database_says_one_sentence(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    arguments = ARGUMENTS[command].replace("FILE", str(tmp_path / "file")).split()

    with refusing_port() as port:
        away = f"postgresql://app@127.0.0.1:{port}/app"
        own = {"DATABASE_URL": away, "OWNER_DATABASE_URL": away}
        status, said = run("manage.py", command, *arguments, **own)

    assert status == 1, said
    *before, sentence = said.splitlines()
    assert re.match(r"(?:CommandError: )?The (?:database|migration) .+\.$", sentence), said
    assert [line for line in before if not line.startswith("release ")] == []


@pytest.mark.parametrize(("state", "says"), [
    (psycopg.OperationalError(), "Look at DATABASE_URL"),
    (errors.AdminShutdown(), "Look at DATABASE_URL"),
    (errors.InvalidPassword(), "Look at DATABASE_URL"),
    (errors.TooManyConnections(), "Look at DATABASE_URL"),
    (errors.ProtocolViolation(), "Look at DATABASE_URL"),  # As PgBouncer ends a wait.
    (errors.LockNotAvailable(), "Run it again."),
    (errors.DeadlockDetected(), "Run it again."),
    (errors.DiskFull(), None),
    (errors.QueryCanceled(), None),
], ids=lambda one: type(one).__name__)  # fmt: skip
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_command_says_what_kept_it_from_the_database(
    state: psycopg.OperationalError, says: str | None, is_wrapped: bool
) -> None:
    problem: Exception = state
    if is_wrapped:
        problem = OperationalError()
        problem.__cause__ = state

    sentence = deployment.end_of_command(problem)

    assert (sentence is None) == (says is None)
    assert says is None or says in str(sentence)
