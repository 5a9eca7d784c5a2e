"""A private PgBouncer in transaction mode before a private PostgreSQL."""

import os
import shutil
from pathlib import Path

import psycopg

from devstack.state import CannotContinue, server_user

PORT = 6432
PLACES = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
# The next transaction of a client goes to another session of the database, so that whatever lives
# on a session is missed at once.
CONFIGURATION = """
[databases]
* = host={sockets}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {sockets}
unix_socket_mode = 0700
auth_type = trust
auth_file = {sockets}/users
admin_users = app
pool_mode = transaction
server_round_robin = 1
min_pool_size = 4
default_pool_size = 20
max_client_conn = 1000
server_login_retry = 0.1
"""
# As docs/operate/database.md tells an operator to.
ROLE = {
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "60s",
    "client_min_messages": "error",
}


def program() -> str:
    """Return the path of the machine's PgBouncer.

    :raises CannotContinue: it is not installed.
    """
    found = shutil.which("pgbouncer", path=os.pathsep.join((os.environ.get("PATH", ""), PLACES)))
    if found is None:
        raise CannotContinue("PgBouncer is missing. On Debian or Ubuntu: apt install pgbouncer")
    return found


def write_configuration(sockets: Path, extra: str = "") -> Path:
    """Write the file that PgBouncer is started with into the directory of the sockets."""
    path = sockets / "pgbouncer.ini"
    path.write_text(CONFIGURATION.format(sockets=sockets, port=PORT) + extra)
    users = sockets / "users"
    users.write_text('"app" ""\n')
    for file in (path, users):
        os.chown(file, server_user().pw_uid, -1)
    return path


def give_role_its_limits(sockets: Path) -> None:
    """Set for the role what the service cannot ask for through the pooler."""
    # Each role may set this for itself.
    with psycopg.connect(host=str(sockets), user="app", dbname="postgres") as connection:
        for name, value in ROLE.items():
            connection.execute(f"ALTER ROLE app SET {name} = '{value}'")


def answers(sockets: Path) -> bool:
    """Return whether the console answers."""
    try:
        console(sockets, "SHOW VERSION")
    except psycopg.OperationalError:
        return False
    return True


def console(sockets: Path, command: str) -> list[dict[str, str]]:
    """Run a command of PgBouncer's console, and return its rows.

    :raises psycopg.OperationalError: it is not there.
    """
    with psycopg.connect(
        host=str(sockets),
        port=PORT,
        user="app",
        dbname="pgbouncer",
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
    ) as console:
        cursor = console.execute(command)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor] if names else []
