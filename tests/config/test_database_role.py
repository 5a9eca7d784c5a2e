"""The service needs no more rights than those that `migrate` gives it, and has no others."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import (
    DatabaseError,
    IntegrityError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.db.models import QuerySet
from psycopg.errors import InsufficientPrivilege

from config import deployment
from core.postgresql import roles
from devstack.servers import SUPERUSER, Servers
from devstack.state import ROOT
from events.models import Event
from tests.stage import live
from tests.stage.client import ApiClient
from tests.stage.database_role import (
    THE_SERVICES_ROLE,
    as_owner,
    as_superuser,
    owners_address,
    rights,
)
from tests.stage.lengths import tried
from tests.stage.processes import run
from tests.stage.web_process import environment
from webhooks import retention

# No right that only the tests' servers grant is used outside of tests and benchmarks.
GRANTED_TO_TESTS = "session_replication_role"
# Each guard, table and function that migrations made, and how it could be put out of the way.
TABLES = """
SELECT quote_ident(relname) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
"""
TRIGGERS = """
SELECT quote_ident(tgname), tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal
"""
FUNCTIONS = """
SELECT oid::regprocedure::text, prorettype::regtype::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
"""
WAYS = {
    TABLES: ("TRUNCATE {}", "DROP TABLE {}", "ALTER TABLE {} DISABLE TRIGGER ALL",
             "ALTER TABLE {} ADD planted integer", "CREATE INDEX ON {} ((1))"),
    TRIGGERS: ("DROP TRIGGER {} ON {}", "ALTER TRIGGER {} ON {} RENAME TO planted"),
    FUNCTIONS: ("DROP FUNCTION {}", "ALTER FUNCTION {} RENAME TO planted",
                "CREATE OR REPLACE FUNCTION {} RETURNS {} LANGUAGE sql AS 'SELECT 1'"),
}  # fmt: skip
OTHERS = (
    "CREATE TABLE planted (id text)", "CREATE SCHEMA planted",
    "CREATE FUNCTION planted() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE ROLE planted",
    "CREATE VIEW planted AS SELECT 1", "ALTER ROLE app SUPERUSER",
    "SET session_replication_role = replica", "COPY core_process TO PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
    "INSERT INTO django_migrations (app, name, applied) VALUES ('core', '9999', now())",
    "DELETE FROM django_migrations", "UPDATE django_migrations SET name = name",
)  # fmt: skip
# Of a live installation.
PROCESSES = {
    "web": ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"),
    "worker": ("-m", "celery", "-A", "config", "worker", "-P", "solo"),
    "beat": ("-m", "celery", "-A", "config", "beat", "-s", "{tmp}/beat", "--pidfile="),
    "sender": ("manage.py", "deliver_webhooks"),
    "command": ("manage.py", "audit"),
}


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("alias", ["default", "bank"])
def test_all_tests_run_as_the_services_role(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        assert rights(cursor) == THE_SERVICES_ROLE


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("alias", ["default", "bank"])
def test_the_services_role_cannot_put_a_guard_out_of_the_way(alias: str) -> None:
    statements = [*OTHERS, *ways(alias)]
    if alias == "bank":
        statements.remove("COPY core_process TO PROGRAM 'true'")

    allowed = [statement for statement in statements if not is_refused(alias, statement)]

    assert allowed == []
    tried(len(statements), f"statements beyond the rights to {alias}")


@pytest.mark.django_db
def test_the_list_finds_what_a_stronger_role_may() -> None:
    with as_owner() as cursor:
        cursor.execute(
            "GRANT TRUNCATE ON ledger_entry TO app; GRANT CREATE ON SCHEMA public TO app"
        )

    try:
        allowed = {one for one in [*OTHERS, *ways("default")] if not is_refused("default", one)}
    finally:  # Behind a pooler the test commits.
        with as_owner() as cursor:
            cursor.execute(
                "REVOKE TRUNCATE ON ledger_entry FROM app; REVOKE CREATE ON SCHEMA public FROM app"
            )

    assert {"TRUNCATE ledger_entry", "CREATE TABLE planted (id text)"} <= allowed


def ways(alias: str) -> Iterator[str]:
    for names, statements in WAYS.items():
        with connections[alias].cursor() as cursor:
            cursor.execute(names)
            found = cursor.fetchall()
        yield from (statement.format(*one) for one in found for statement in statements)


def is_refused(alias: str, statement: str) -> bool:
    """Run a statement, undo it, and tell whether the role had no right to it."""
    try:
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            cursor.execute(statement)
            transaction.set_rollback(True, using=alias)
    except DatabaseError as problem:
        return isinstance(problem.__cause__, InsufficientPrivilege)
    return False


@pytest.mark.django_db(transaction=True)
def test_an_event_goes_by_its_function_alone(acme: ApiClient) -> None:
    acme.post("/v1/customers", {"email": "ada@example.com"})
    [event] = Event.objects.values_list("id", flat=True)

    with pytest.raises(IntegrityError, match="never changed or deleted"):
        as_pruning(Event.objects.filter(id=event))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM webhooks_delivery")
        cursor.execute("SELECT prune_events(%s)", [[event]])

    assert not Event.objects.exists()


@transaction.atomic
def as_pruning(events: QuerySet[Event]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('events.pruning', 'on', true)")
    events._raw_delete("default")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "planted", ["TRUNCATE webhooks_delivery", "CHECKPOINT", "CREATE TABLE planted (id text)"]
)
def test_a_statement_of_the_product_that_asks_for_more_fails(
    planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FORGET_DELIVERIES", planted)

    with pytest.raises(ProgrammingError, match="permission denied"):
        retention.forget_old()


@pytest.mark.django_db(transaction=True)
def test_rights_are_mended_by_a_migration() -> None:
    with as_owner() as cursor:
        cursor.execute(
            "REVOKE SELECT ON ledger_entry FROM app; GRANT TRUNCATE ON core_process TO app"
        )
        cursor.execute("REVOKE EXECUTE ON FUNCTION prune_events FROM app")
    assert rights_beyond_and_lacking() == (True, True)

    status, said = run("manage.py", "migrate", "-v0", "--skip-checks")

    assert (status, said) == (0, "")
    assert rights_beyond_and_lacking() == (False, False)


def rights_beyond_and_lacking() -> tuple[bool, bool]:
    with connection.cursor() as cursor:
        cursor.execute(deployment.RIGHTS, [list(roles.ONLY_READ)])
        [[_owner, beyond, lacking]] = cursor.fetchall()
    return beyond, lacking


@pytest.mark.django_db(transaction=True)
def test_migrate_asks_for_the_owner_in_one_sentence() -> None:
    status, said = run("manage.py", "migrate", "--skip-checks", OWNER_DATABASE_URL="")

    assert status == 1
    assert said == (
        "The role app may not change the database's tables: set OWNER_DATABASE_URL to the address"
        " of the role that owns them, for this command alone.\n"
    )


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize(
    ("address", "refusal"),
    [
        (owners_address, "The role owner owns the database's tables"),
        (as_superuser, "The role postgres is a superuser"),
    ],
)
def test_no_live_process_runs_as_a_role_that_may_drop_its_guards(
    address: Callable[[], str], refusal: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(roles, "_proven", set())
    settings.LIVEMODE = True

    with psycopg.connect(address()) as raw, pytest.raises(ImproperlyConfigured, match=refusal):
        roles.require_weak_role("default", raw)
    with psycopg.connect(owners_address(), user="app") as raw:
        roles.require_weak_role("default", raw)

    assert roles._proven == {"default"}


@pytest.mark.slow
@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("name", PROCESSES)
def test_each_live_process_refuses_the_owner(name: str, tmp_path: Path) -> None:
    command = [part.replace("{tmp}", str(tmp_path)) for part in PROCESSES[name]]

    address = environment()["OWNER_DATABASE_URL"]
    given = {**live.SETTINGS, "DATABASE_URL": address, "WEB_BIND": "127.0.0.1:0"}

    status, said = run(*command, **given)

    assert status not in (0, -9)
    assert "The role owner owns the database's tables" in said


@pytest.mark.slow
@pytest.mark.django_db(databases=["default", "bank"])
def test_the_pages_statements_make_both_roles(own_servers: Servers) -> None:
    own_servers.start_postgres()
    place = {"host": str(own_servers.sockets), "autocommit": True}
    page = (ROOT / "docs/operate/database.md").read_text().partition("## Two roles")[2]
    with psycopg.connect(user=SUPERUSER, dbname="postgres", **place) as raw:
        for statement in page.partition("```sql\n")[2].partition("```")[0].splitlines():
            raw.execute(statement)
    urls = [f"postgresql://{role}@/pay?host={place['host']}" for role in ("pay", "pay_owner")]
    given = {**live.SETTINGS, "DATABASE_URL": urls[0]}

    migrated = run("manage.py", "migrate", "-v0", **given, OWNER_DATABASE_URL=urls[1])
    audited = run("manage.py", "audit", **given, OWNER_DATABASE_URL="")

    assert (migrated[0], audited[0]) == (0, 0), migrated[1] + audited[1]
    with psycopg.connect(user="pay", dbname="pay", **place) as raw:
        found = raw.execute(deployment.RIGHTS, [list(roles.ONLY_READ)]).fetchall()
        assert found == [(None, False, False)]
        with pytest.raises(InsufficientPrivilege):
            raw.execute("SET ROLE pay_owner")


def test_the_service_asks_for_nothing_that_only_the_tests_servers_grant() -> None:
    command = ["git", "grep", "--name-only", GRANTED_TO_TESTS, "--", "*.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    rooms = {name.split("/")[0] for name in found.stdout.split()}
    assert {"tests", "bench", "devstack"} == rooms
