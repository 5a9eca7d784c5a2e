import select
import time
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from django.db.backends.postgresql import base
from psycopg import Connection, Error, IsolationLevel, OperationalError
from psycopg_pool import ConnectionPool, PoolTimeout

from core import context
from core.metrics import Counter, Histogram
from core.postgresql import roles, waits
from core.postgresql.places import Places

# Work that has done nothing yet is refused then, and may be tried again.
PATIENCE_SECONDS = 3.0
# So often one who waits looks whether there is still a database to wait for. The pool connects
# once for those who come to wait, and not again for those who wait already.
LOOK_SECONDS = 0.25
# One of so many shared connections is for requests that only read.
READERS_SHARE = 4

WAITED = Histogram(
    "pay_database_wait_seconds", "Time that work waited for one of the shared connections."
)
TIMED_OUT = Counter("pay_database_wait_refused_total", "Work that got no connection in its time.")

_places: WeakKeyDictionary[ConnectionPool, Places] = WeakKeyDictionary()
_making = Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """Keep or share connections as Django does, and use none that the server has closed.

    Otherwise every kept connection costs a request after the database was restarted. For a shared
    connection the current work waits as long as it can bear (core.connections).
    """

    _place_at: Places | None = None

    def ensure_connection(self) -> None:
        """Exchange a connection that has died; called before each statement and transaction.

        Nothing lives on a connection outside of a transaction, so nothing is lost with it, and
        no statement is sent twice.
        """
        self._drop_if_dead()
        super().ensure_connection()

    def close_if_unusable_or_obsolete(self) -> None:
        """Look at a connection after a request, and before one.

        Django would open another in the place of a dead one, and close it again. If the database
        is away, the request's thread would wait for it, and end in a traceback of the web server
        although its answer is sent.
        """
        self._drop_if_dead()
        super().close_if_unusable_or_obsolete()

    def connect(self) -> None:
        super().connect()
        try:
            waits.prove_once(self.alias, self.connection)
            roles.require_weak_role(self.alias, self.connection)
        except BaseException:
            self.close()
            raise

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if self.pool is None:
            return self._opened(conn_params)
        self.isolation_level = IsolationLevel.READ_COMMITTED
        self.pool.open()  # Does nothing to one that is open.
        began = time.monotonic()
        self._take_place()
        try:
            taken = _taken(self.pool)
            WAITED.note(time.monotonic() - began)
            return taken
        except BaseException:
            self._give_place_back()
            raise

    def _drop_if_dead(self) -> None:
        raw = self.connection
        if raw is not None and raw.autocommit and not is_alive(raw):
            self.close()

    def _take_place(self) -> None:
        """Wait for a place among those who change something; who only reads needs none."""
        places, work = places_at(self.pool), context.current()
        if places is None or work is None or not work.changes_something:
            return
        if not places.take(is_urgent=work.has_asked_others, seconds=_patience_seconds()):
            TIMED_OUT.count()
            raise PoolTimeout("all connections are in use")
        self._place_at = places

    def _give_place_back(self) -> None:
        places, self._place_at = self._place_at, None
        if places:
            places.give_back()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # Its stubs leave it out.
        finally:
            self._give_place_back()

    def _opened(self, conn_params: dict[str, Any]) -> Any:
        try:
            return super().get_new_connection(conn_params)
        except OperationalError as problem:
            waits.refuse_if_options_are_refused(problem)
            raise


def places_at(pool: ConnectionPool) -> Places | None:
    """Return the places at a pool's connections; a few connections have none for reads alone."""
    kept = pool.max_size // READERS_SHARE
    if not kept:
        return None
    with _making:
        return _places.setdefault(pool, Places(pool.max_size - kept))


def is_alive(connection: Connection) -> bool:
    """Return whether the server is still there; usually without asking it.

    An idle connection has nothing to be read. When the server goes, a last message or the end of
    the stream can be read: only such a connection is asked for an answer.
    """
    if connection.closed:
        return False
    if _is_silent(connection):
        return True
    try:
        connection.execute("SELECT 1")
    except Error:
        return False
    return True


def _is_silent(connection: Connection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def _taken(pool: ConnectionPool) -> Connection:
    """Take a connection that is alive out of the pool."""
    patience = _patience_seconds()
    ends_at = time.monotonic() + patience
    while True:
        left = ends_at - time.monotonic()
        try:
            connection = pool.getconn(timeout=min(LOOK_SECONDS, left))
        except PoolTimeout:
            if left <= LOOK_SECONDS:
                TIMED_OUT.count()
                raise
        else:
            if is_alive(connection):
                return connection
            connection.close()
            pool.putconn(connection)  # The pool opens another in its place.
            continue
        if patience <= PATIENCE_SECONDS and pool.get_stats()["pool_size"] == 0:
            raise OperationalError("the database cannot be reached")


def _patience_seconds() -> float:
    work = context.current()
    if work is None or not work.has_asked_others:
        return PATIENCE_SECONDS
    # A card may be charged by now: no other request is worth more than writing that down.
    return max(PATIENCE_SECONDS, context.remaining_seconds())
