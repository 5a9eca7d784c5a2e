"""The look before an installation opens: `manage.py check --deploy --database default`.

It asks the stores themselves, and so only with `--database`: without it the settings alone are
looked at, which needs nothing that runs. Each finding says what to run or to set.
"""

import smtplib
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import requests
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as DeployWarning
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import get_connection
from django.db import DatabaseError, connections
from psycopg import errors
from redis import Redis, RedisError

from acquirers.models import Route, Terminal
from api.authentication import ApiKeyMissing
from config import probe
from config.front_door import HttpsRequired
from core import certificates, installation, ip_addresses, redis, release
from core.errors import UrlNotFound
from core.http import is_panel_apart
from core.postgresql import roles
from panel.static_files import of_another_release, require_collected

# All tests run with the newest. Those of payments, refunds, deliveries and retention have passed
# with the oldest, and no gate repeats that.
OLDEST, NEWEST = 15, 18
CLOCKS_APART_SECONDS = 2.0
PATIENCE_SECONDS = 5.0
# SQLSTATEs of a database that is away, or lets nobody in, by their beginnings; and of a row that
# somebody else has.
AWAY = ("08", "28", "3D", "57P0", "53300")
HELD = (errors.LockNotAvailable.sqlstate, errors.DeadlockDetected.sqlstate)
POLICY = "noeviction"
# Settings of Redis by which it writes to a disk; with replicas, the copying does too.
LEADING, FOLLOWERS = ("repl-diskless-sync",), ("save", "appendonly", "repl-diskless-load")

SERVER = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
    (SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
     FROM pg_roles WHERE rolname = current_user), now(), quote_ident(current_user)
"""
# Rights to the tables that migrations made: the owner's, more than `migrate` gives, less than that.
RIGHTS = """
WITH made AS (
    SELECT oid, relname, relowner FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
        AND relowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('django_migrations'))
)
SELECT (SELECT quote_ident(pg_get_userbyid(relowner)) FROM made
        WHERE pg_has_role(relowner, 'MEMBER') LIMIT 1),
    has_schema_privilege(current_schema(), 'CREATE') OR EXISTS (
        SELECT FROM made WHERE has_table_privilege(oid, 'TRUNCATE, REFERENCES, TRIGGER')),
    EXISTS (SELECT FROM made, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
            WHERE relname <> ALL (%s) AND NOT has_table_privilege(oid, needed))
        OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
                   AND prosecdef AND NOT has_function_privilege(oid, 'EXECUTE'))
"""
MEND = "Run: manage.py migrate, with the owner's address in OWNER_DATABASE_URL."
COLLECT = "Run: manage.py collectstatic --noinput"


class Finding(NamedTuple):
    """A fault of the deployment; `code` is part of its id, and stays what it means."""

    code: str
    text: str
    hint: str


def stores_are_ready(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Report what would keep this installation from taking payments, or from keeping them."""
    if "default" not in (databases or ()):
        return []
    found = [finding for look in LOOKS for finding in look()]
    return [
        (Error if one.code.startswith("E") else DeployWarning)(
            one.text, hint=one.hint, id=f"config.{one.code}"
        )
        for one in found
    ]


def _database() -> Iterator[Finding]:
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute(SERVER)
            [[version, encoding, is_strong, now, role]] = cursor.fetchall()
    except DatabaseError as problem:
        yield unanswered(problem)
        return
    if version < OLDEST:
        text = f"PostgreSQL {version} is older than {OLDEST}, the oldest that is tested."
        yield Finding("E002", text, "Its project has packages of all versions for Debian.")
    if version > NEWEST:
        text = f"PostgreSQL {version} is newer than {NEWEST}, the newest that is tested."
        yield Finding("W002", text, "Try it in a sandbox first.")
    if encoding != "UTF8":
        hint = "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0;"
        yield Finding("E003", f"The database's encoding is {encoding}, not UTF8.", hint)
    if is_strong:
        hint = f"ALTER ROLE {role} NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS;"
        yield Finding("E004", f"The role {role} may do more than the service needs.", hint)
    else:
        yield from _rights(role)
    if settings.SYNCHRONOUS_STANDBYS:
        yield from _standbys()
    if (apart := abs((now - datetime.now(UTC)).total_seconds())) > CLOCKS_APART_SECONDS:
        text = f"The clocks of this host and of the database are {apart:.0f} s apart."
        yield Finding("E005", text, "Run a time service, such as chrony, on both.")


def end_of_command(problem: Exception) -> str | None:
    """Return the sentence by which a command ends that the database has not served.

    :returns: None if the database has answered: then it is a fault to be reported whole.
    """
    state = getattr(problem, "sqlstate", None) or getattr(problem.__cause__, "sqlstate", None)
    if state in HELD:
        return "Another process holds what this command needs. Run it again."
    if state is not None and not state.startswith(AWAY):
        return None
    found = unanswered(problem)
    return f"{found.text} {found.hint}"


def unanswered(problem: Exception) -> Finding:
    """Return what to do about a database that does not answer."""
    if fault := certificates.fault(problem):
        text = f"The database's certificate is refused: {fault}."
        hint = "Its dates: openssl s_client -starttls postgres -connect HOST:5432"
        return Finding("E001", text, hint)
    text = f"The database cannot be asked ({type(problem).__name__})."
    return Finding("E001", text, "Look at DATABASE_URL, and at the server's log.")


def _standbys() -> Iterator[Finding]:
    with connections["default"].cursor() as cursor:
        cursor.execute(f"SELECT {installation.IS_BOUND}, session_user")
        [[is_bound, role]] = cursor.fetchall()
    if is_bound:
        text = "SYNCHRONOUS_STANDBYS is set, and statement_timeout ends the wait for a standby."
        hint = f"ALTER ROLE {role} SET statement_timeout = 0; then RECONNECT at PgBouncer."
        yield Finding("E023", text, hint)
    elif not installation.waits_for_standbys():
        text = "SYNCHRONOUS_STANDBYS is set, and a commit waits for no standby's disk."
        hint = "Set synchronous_standby_names and synchronous_commit = on at the server."
        yield Finding("E022", text, hint)


def _rights(role: str) -> Iterator[Finding]:
    with connections["default"].cursor() as cursor:
        cursor.execute(RIGHTS, [list(roles.ONLY_READ)])
        [[owner, may_too_much, may_too_little]] = cursor.fetchall()
    if owner == role:
        text = f"The role {role} owns the tables: it may drop what guards their rows."
        hint = "Make a role of the service's own, see docs/operate/database.md (PostgreSQL)."
        yield Finding("E016" if settings.LIVEMODE else "W016", text, hint)
    elif owner:
        text = f"The role {role} may become {owner}, which owns the tables."
        yield Finding("E017", text, f"REVOKE {owner} FROM {role};")
    elif may_too_much:
        text = f"The role {role} may make, empty or change tables."
        yield Finding("E018", text, f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {role}; {MEND}")
    if may_too_little:
        yield Finding("E019", f"The role {role} may not use all tables of this release.", MEND)


def _migrations() -> Iterator[Finding]:
    try:
        is_lacking = bool(release.schema().lacking)
    except DatabaseError:
        return  # Another finding says so.
    if is_lacking:
        text = "The database lacks a migration of this release."
        yield Finding("E006", text, "Run: manage.py migrate")


def _static_files() -> Iterator[Finding]:
    try:
        require_collected()
    except ImproperlyConfigured as problem:
        yield Finding("E007", str(problem), COLLECT)
        return
    if files := of_another_release():
        # Browsers refuse such a script: the page names the digest of this release's.
        text = f"{settings.STATIC_ROOT} has static files of another release: {files[0]} differs."
        yield Finding("E007", text, f"{COLLECT}, then restart the web processes.")


def _acquirers() -> Iterator[Finding]:
    if not settings.LIVEMODE:
        return
    open_routes = Route.objects.filter(
        terminal__kind__in=settings.ACQUIRERS, terminal__status=Terminal.Status.ENABLED
    )
    try:
        is_open = open_routes.exists()
    except DatabaseError:
        return  # Another finding says so.
    if not is_open:
        text = "No terminal takes payments: each confirm is answered with 503."
        yield Finding("E008", text, "See docs/operate/terminals.md: set one up, and a route to it.")


def _redis() -> Iterator[Finding]:
    try:
        kept = redis.call(
            lambda client: _configured(client, "save", "appendonly", "cluster-enabled")
        )
        policy = redis.call(lambda client: _configured(client, "maxmemory-policy"))
        followers = [_configured(one, *FOLLOWERS) for one in redis.replicas()]
        leading = redis.call(lambda client: _configured(client, *LEADING)) if followers else {}
    except (redis.Away, RedisError) as problem:
        if fault := certificates.fault(problem):
            text = f"Redis' certificate is refused: {fault}."
            yield Finding("W009", text, "Its dates: openssl s_client -connect HOST:6379")
            return
        text = "Redis does not answer, or does not show its settings."
        yield Finding("W009", text, "Look at REDIS_URL. Set by hand: save '', appendonly no.")
        return
    if any(one["save"] or one["appendonly"] != "no" for one in (kept, *followers)):
        text = "Redis writes to a disk: security codes of cards may not be on one."
        yield Finding(
            "E010", text, "redis-cli CONFIG SET save '' ; redis-cli CONFIG SET appendonly no"
        )
    if any(one["repl-diskless-load"] == "disabled" for one in followers) or (
        leading.get("repl-diskless-sync") == "no"
    ):
        text = (
            "Redis copies itself to its replicas through a disk: security codes may not be on one."
        )
        way = "repl-diskless-sync yes ; redis-cli CONFIG SET repl-diskless-load on-empty-db"
        yield Finding("E021", text, f"At each server: redis-cli CONFIG SET {way}")
    if kept.get("cluster-enabled") == "yes":
        text = "Redis runs as a Cluster: the service speaks to one server alone."
        yield Finding("E020", text, "Set REDIS_URL to a server without cluster-enabled.")
    if policy["maxmemory-policy"] != POLICY:
        text = f"Redis forgets when it is full ({policy['maxmemory-policy']}): work may be lost."
        yield Finding("W011", text, f"redis-cli CONFIG SET maxmemory-policy {POLICY}")


def _configured(client: Redis, *names: str) -> dict[str, str]:
    answer: dict[Any, Any] = client.config_get(*names)
    return {_text(name): _text(value) for name, value in answer.items()}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _mail() -> Iterator[Finding]:
    connection = get_connection(timeout=PATIENCE_SECONDS) if _is_smtp() else get_connection()
    try:
        connection.open()
        connection.close()
    except (OSError, smtplib.SMTPException, ssl.SSLError) as problem:
        text = f"The mail server cannot be reached ({type(problem).__name__})."
        yield Finding("E012", text, "Look at EMAIL_URL: people sign in and are invited by mail.")


def _is_smtp() -> bool:
    return settings.EMAIL_BACKEND.endswith("smtp.EmailBackend")


def _own_addresses() -> Iterator[Finding]:
    for own in dict.fromkeys((settings.BASE_URL, settings.PANEL_URL)):
        yield from _own_address(own)


def _own_address(own: str) -> Iterator[Finding]:
    """Ask what a client asks, without a key: by https it is refused for the key alone.

    A panel's host of its own has no API: by https there is nothing at the address.
    """
    address = f"{own}/v1/balance"
    try:
        answer = requests.get(
            address, headers=probe.headers(), timeout=PATIENCE_SECONDS, allow_redirects=False
        )
    except requests.RequestException as problem:
        text = f"{own} cannot be reached from here ({type(problem).__name__})."
        yield Finding("W013", text, "Look at the proxy, its certificate, and the name's address.")
        return
    if answer.status_code == HttpsRequired.http_status and HttpsRequired.code in answer.text:
        text = f"{own} has TLS, and the service does not hear of it."
        yield Finding("E014", text, "Set BEHIND_PROXY=true, and X-Forwarded-Proto at the proxy.")
    elif answer.status_code not in (ApiKeyMissing.http_status, _without_api(own)):
        text = f"{address} is answered with {answer.status_code}, without a key."
        yield Finding("W015", text, "Start the web process, and look at that answer.")
    elif probe.SEEN not in answer.headers:
        text = f"{own} is answered by another release, or with another SECRET_KEY."
        yield Finding("W024", text, "Restart the web process, and run this with its settings.")
    else:
        yield from _clients_address(
            own, answer.headers[probe.SEEN], answer.headers[probe.PASSED_ON]
        )


def _without_api(own: str) -> int | None:
    apart = is_panel_apart() and own == settings.PANEL_URL
    return UrlNotFound.http_status if apart else None


def _clients_address(own: str, seen: str, passed_on: str) -> Iterator[Finding]:
    # The first proxy may add to the client's claim, or write the header itself.
    own_part = passed_on.rpartition(probe.CLAIMED)[2]
    added = [address for part in own_part.split(",") if (address := part.strip())]
    if len(added) == settings.PROXY_HOPS and (not added or _is_same(added[0], seen)):
        return
    way = ", ".join(added) or "none"
    text = f"{own}: the service takes {seen} for the client's address; proxies have added: {way}."
    hint = (
        "Let each proxy add to X-Forwarded-For, and set PROXY_HOPS to their number. Run this where"
        " the name leads through all of them, as it leads clients."
    )
    yield Finding("E025", text, hint)


def _is_same(address: str, other: str) -> bool:
    try:
        return ip_addresses.plain(address) == ip_addresses.plain(other)
    except ValueError:  # A proxy may add a port.
        return False


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _database, _migrations, _static_files, _acquirers, _redis, _mail, _own_addresses,
)  # fmt: skip
