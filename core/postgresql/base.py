import time
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection, IsolationLevel, OperationalError
from psycopg_pool import ConnectionPool, PoolTimeout

from core import context

# Work that has done nothing yet is refused then, and may be tried again.
PATIENCE_SECONDS = 3.0
# So often one who waits looks whether there is still a database to wait for. The pool connects
# once for those who come to wait, and not again for those who wait already.
LOOK_SECONDS = 0.25


class DatabaseWrapper(base.DatabaseWrapper):
    """Wait for a shared connection as long as the work at hand can bear (core.connections)."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if self.pool is None:
            return super().get_new_connection(conn_params)
        self.isolation_level = IsolationLevel.READ_COMMITTED
        self.pool.open()  # Does nothing to one that is open.
        return _taken(self.pool)


def _taken(pool: ConnectionPool) -> Connection:
    """Take a connection out of the pool.

    :raises PoolTimeout: none came free while the work at hand could wait.
    :raises OperationalError: the database cannot be reached, and nothing obliges to wait for it.
    """
    patience = _patience_seconds()
    ends_at = time.monotonic() + patience
    while True:
        left = ends_at - time.monotonic()
        try:
            return pool.getconn(timeout=min(LOOK_SECONDS, left))
        except PoolTimeout:
            if left <= LOOK_SECONDS:
                raise
        if patience <= PATIENCE_SECONDS and pool.get_stats()["pool_size"] == 0:
            raise OperationalError("the database cannot be reached")


def _patience_seconds() -> float:
    work = context.current()
    if work is None or not work.has_asked_others:
        return PATIENCE_SECONDS
    # A card may be charged by now: no other request is worth more than writing that down.
    return max(PATIENCE_SECONDS, context.remaining_seconds())
