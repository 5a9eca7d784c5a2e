"""Few database connections for many threads, most of which wait for a bank.

Only web processes and the test bank's share: their entry points say so (config/wsgi.py,
testbank/wsgi.py), so that a start command need not. Every other process keeps a connection
for each of its few threads.
"""

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from core import context

# No time: core.postgresql tries again in the thread that needs the connection.
RECONNECT_SECONDS = 0
# No statement of a request takes so long, unless something is wrong: a request has 45 s in all.
# Retention, audits and imports may: they run outside of web processes. A commit may where it waits
# for a standby: ended by this bound it would be answered as done, and no standby has it.
STATEMENT_BOUND = "-c statement_timeout=30s"


def name_sessions(kind: str) -> None:
    """Show what kind of process ours is in `pg_stat_activity`, where its host has no name for it.

    For sessions that are opened from now on.
    """
    for connection in connections.all():
        connection.settings_dict["OPTIONS"]["fallback_application_name"] = kind


def share() -> None:
    """Let all threads of this process share `DATABASE_POOL` connections to each database.

    Call it where the process is about to fork or serve, after its own questions to the database
    at the start: no pool is open yet, and each process opens its own with its first request.
    """
    for connection in connections.all():
        connection.close()
        connection.settings_dict["CONN_MAX_AGE"] = 0  # To keep them is the pool's business.
        options = connection.settings_dict["OPTIONS"]
        is_bound = settings.SYNCHRONOUS_STANDBYS or STATEMENT_BOUND in options.get("options", "")
        if "options" in options and not is_bound:  # No pooler.
            options["options"] += f" {STATEMENT_BOUND}"
        options["pool"] = {
            "min_size": 0,
            "max_size": settings.DATABASE_POOL,
            "reconnect_timeout": RECONNECT_SECONDS,
        }


def give_back() -> None:
    """Lend this thread's connections to others, where they are shared.

    The next statement takes one again. Inside a transaction the connection stays.
    """
    for connection in connections.all(initialized_only=True):
        if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
            connection.close()


class AskedWrongly(RuntimeError):
    """Code asks another service inside a transaction, or without a slot; nothing was sent."""


def give_back_to_ask() -> None:
    """Lend this thread's connections to others during a call to a bank.

    The answer has to be written down: from now on the current work waits for a connection
    for as long as its time lasts.

    :raises AskedWrongly: a transaction is open, whose locks would be held for as long as
        the other side likes.
    """
    if any(map(_is_in_transaction, connections.all(initialized_only=True))):
        raise AskedWrongly("nobody outside is asked inside a transaction")
    give_back()
    if work := context.current():
        work.has_asked_others = True


def _is_in_transaction(connection: BaseDatabaseWrapper) -> bool:
    if not connection.in_atomic_block:
        return False
    # A test's own is none of the service's: `atomic(durable=True)` looks for it in the same way.
    return not getattr(connection.atomic_blocks[-1], "_from_testcase", False)
