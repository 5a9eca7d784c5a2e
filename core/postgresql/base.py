"""Connections that are looked at before they are used, and that wait for nothing without end."""

import select
from typing import Any, ClassVar

from django.db.backends.postgresql import base
from psycopg import Connection, Error, OperationalError

from core.postgresql import waits


class DatabaseWrapper(base.DatabaseWrapper):
    """Keep connections as Django does, and notice when the server has closed one.

    Otherwise every kept connection costs a request after the database was restarted.
    """

    # Databases whose sessions were looked at in this process.
    _proven: ClassVar[set[str]] = set()

    def ensure_connection(self) -> None:
        """Exchange a connection that died; called before each statement and transaction.

        Nothing lives on a connection outside of a transaction, so nothing is lost with it, and
        no statement is sent twice.
        """
        raw = self.connection
        if raw is not None and raw.autocommit and not is_alive(raw):
            self.close()
        super().ensure_connection()

    def connect(self) -> None:
        super().connect()
        if self.alias not in self._proven:
            try:
                waits.prove(self.connection)
            except BaseException:
                self.close()
                raise
            self._proven.add(self.alias)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        try:
            connection = super().get_new_connection(conn_params)
        except OperationalError as problem:
            waits.refuse_if_options_are_refused(problem)
            raise
        return connection


def is_alive(connection: Connection) -> bool:
    """Tell whether the server is still there; usually without asking it.

    An idle connection has nothing to be read. When the server goes, its last words and the end of
    the stream can be read: only a connection on which something has come is asked for an answer.
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
