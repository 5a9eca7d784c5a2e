"""A pooler between the service and its database: no process runs without bounded waits."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from devstack import processes
from devstack.servers import Servers
from devstack.state import ROOT
from devstack.storage import make_if_missing
from tests.stage.own_servers import throw_away
from tests.stage.processes import run
from tests.stage.through_pooler import MODULES

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

PROCESSES = {
    "web": ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"),
    "worker": ("-m", "celery", "-A", "config", "worker", "-P", "solo"),
    "beat": ("-m", "celery", "-A", "config", "beat", "-s", "{tmp}/beat", "--pidfile="),
    "bank": ("-m", "gunicorn", "testbank.wsgi", "--no-control-socket"),
    "deliver_webhooks": ("manage.py", "deliver_webhooks"),
    "create_merchant": (
        *("manage.py", "create_merchant", "--name", "Acme", "--email", "owner@acme.example"),
        *("--website", "https://acme.example"),
    ),
}
IGNORES = "ignore_startup_parameters = options\n"
# The limits of each process's waits, as PostgreSQL tells them through the pooler.
SHOW = """
import django; django.setup()
from django.db import connection
with connection.cursor() as cursor:
    for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
        cursor.execute(f"SHOW {name}"); print(name, cursor.fetchone()[0])
"""

Start = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def database() -> Iterator[Servers]:
    """PostgreSQL of which nobody has set anything for the service's role."""
    with throw_away() as servers:
        servers.start_postgres()
        for name in ("app", "bank"):
            make_if_missing(servers.database_address(name))
        yield servers


@pytest.fixture
def start_behind(database: Servers, tmp_path: Path) -> Iterator[Start]:
    """Start a process of the service behind a PgBouncer that is configured in a certain way."""

    def start(configuration: str, *command: str, **changes: str) -> tuple[int, str]:
        database.start_pgbouncer(configuration)
        addresses = {
            "DATABASE_URL": database.database_address("app"),
            "BANK_DATABASE_URL": database.database_address("bank"),
        }
        arguments = [part.replace("{tmp}", str(tmp_path)) for part in command]
        return run(*arguments, **{"WEB_BIND": "127.0.0.1:0", **addresses, **changes})

    yield start
    processes.stop([database.processes.pop("pgbouncer")])
    with psycopg.connect(host=str(database.sockets), user="app", dbname="postgres") as direct:
        direct.execute("ALTER ROLE app RESET ALL")


@pytest.mark.parametrize("name", PROCESSES)
def test_where_the_options_are_refused_no_process_starts(name: str, start_behind: Start) -> None:
    status, said = start_behind("", *PROCESSES[name])

    assert status not in (0, -9)
    assert (
        "Set BEHIND_POOLER=true, and run in PostgreSQL for the service's role: ALTER ROLE" in said
    )


@pytest.mark.parametrize("name", PROCESSES)
def test_where_the_limits_are_missing_no_process_starts(name: str, start_behind: Start) -> None:
    status, said = start_behind(IGNORES, *PROCESSES[name], BEHIND_POOLER="true")

    assert status not in (0, -9)
    assert "sessions have lock_timeout = 0, idle_in_transaction_session_timeout = 0" in said
    assert "ALTER ROLE app SET lock_timeout = '3s';" in said


def test_the_sentence_is_what_an_operator_runs(database: Servers, start_behind: Start) -> None:
    _status, said = start_behind(IGNORES, "-c", SHOW)
    with psycopg.connect(host=str(database.sockets), user="app", dbname="postgres") as direct:
        for change in re.findall(r"ALTER ROLE [^;]+;", said):
            direct.execute(change)
    processes.stop([database.processes.pop("pgbouncer")])

    status, said = start_behind("", "-c", SHOW, BEHIND_POOLER="true")

    assert status == 0, said
    assert said.split() == [
        *("lock_timeout", "3s", "idle_in_transaction_session_timeout", "1min"),
    ]


def test_a_command_says_it_in_one_sentence(start_behind: Start) -> None:
    _status, said = start_behind(IGNORES, *PROCESSES["create_merchant"])

    assert "Traceback" not in said


def test_the_documentation_sets_what_is_asked_for() -> None:
    page = (ROOT / "docs" / "operate" / "database.md").read_text()

    told = dict(re.findall(r"ALTER ROLE pay SET (\w+) = '(\w+)';", page))
    assert settings.BOUNDED_WAITS.items() <= told.items()


def test_the_modules_that_run_behind_the_pooler_are_there() -> None:
    assert {name for name in MODULES if not list((ROOT / "tests").rglob(name))} == set()
