"""Proof that neither a lock nor an idle transaction is waited for without end.

The service asks for both limits when it connects. A pooler in between may refuse that, or leave it
out silently: then a request would wait for a lock as long as another session holds it.
"""

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from psycopg import Connection, OperationalError, connect

from core import certificates
from core.postgresql import roles

log = structlog.get_logger(__name__)

# Databases whose limits this process has seen on a live connection.
_proven: set[str] = set()

OTHERS = """
SELECT quote_ident(session_user), wanted.name, wanted.value, current_setting(wanted.name)
FROM unnest(%s::text[], %s::text[]) AS wanted (name, value)
WHERE current_setting(wanted.name)::interval <> wanted.value::interval
"""


def require_bounded_waits() -> None:
    """Stop a process at its start whose sessions would wait without end.

    On connections of its own, which are closed again: a process may fork after this. A database
    that is down is no reason to stop; then the first connection that is opened proves it.

    :raises ImproperlyConfigured: a limit is missing; the text is the sentence that sets it.
    """
    for alias in connections:
        try:
            with connect(**connections[alias].get_connection_params()) as raw:
                prove_once(alias, raw)
                roles.require_weak_role(alias, raw)
        except OperationalError as problem:
            refuse_if_options_are_refused(problem)
            log.warning(
                "bounded_waits_not_proven", database=alias, certificate=certificates.fault(problem)
            )


def prove_once(alias: str, raw: Connection) -> None:
    """Compare the limits of a live session with those that are wanted, once per process.

    :raises ImproperlyConfigured: the session has others.
    """
    if alias not in _proven:
        _prove(raw)
        _proven.add(alias)


def _prove(raw: Connection) -> None:
    wanted = settings.BOUNDED_WAITS
    others = raw.execute(OTHERS, [list(wanted), list(wanted.values())]).fetchall()
    if not others:
        return
    found = ", ".join(f"{name} = {value}" for _role, name, _wanted, value in others)
    changes = " ".join(
        f"ALTER ROLE {role} SET {name} = '{value}';" for role, name, value, _found in others
    )
    raise ImproperlyConfigured(
        f"The database's sessions have {found}: a pooler in between leaves out what we connect "
        f"with. Run in PostgreSQL: {changes} Then let the pooler connect anew (PgBouncer: "
        "RECONNECT), see docs/operate/database.md."
    )


def refuse_if_options_are_refused(problem: OperationalError) -> None:
    """Refuse a pooler that takes no start-up options; a database that is away passes.

    :raises ImproperlyConfigured: it is such a pooler.
    """
    if "unsupported startup parameter" in str(problem):
        changes = " ".join(
            f"ALTER ROLE … SET {name} = '{value}';"
            for name, value in settings.BOUNDED_WAITS.items()
        )
        raise ImproperlyConfigured(
            "A pooler in front of the database refuses the options that we connect with. Set "
            f"BEHIND_POOLER=true, and run in PostgreSQL for the service's role: {changes} "
            "See docs/operate/database.md."
        ) from problem
