"""PgBouncer with the file of deploy/, before the database of a test."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from devstack import binaries, pooler, processes
from devstack.servers import Servers
from devstack.state import ROOT, server_user
from tests.stage.kills import until
from tests.stage.own_ports import own_ports

PATIENCE_SECONDS = 60


@contextmanager
def shipped_pooler(servers: Servers, database: str) -> Iterator[str]:
    """Yield the address at which the service reaches it, without the name of a database.

    :param servers: those whose directory has its files.
    :param database: where it finds the database, as its file writes that.
    """
    port = own_ports("pooler")["pooler"]
    users, file = servers.sockets / "shipped_users", servers.sockets / "shipped.ini"
    users.write_text('"app" ""\n')
    text = (ROOT / "deploy/pgbouncer/pgbouncer.ini").read_text()
    for there, here in {
        "host=127.0.0.1 port=5432 dbname=pay": database,
        "listen_port = 6432": f"listen_port = {port}",
        "auth_type = scram-sha-256": "auth_type = trust",
        "/etc/pgbouncer/userlist.txt": str(users),
    }.items():
        assert there in text, there
        text = text.replace(there, here)
    file.write_text(text)
    for path in (users, file):
        os.chown(path, server_user().pw_uid, -1)
    process = processes.spawn([pooler.program(), "-q", file], **binaries.as_server_user())
    try:
        until(lambda: _listens(int(port)), PATIENCE_SECONDS)
        yield f"postgresql://app@127.0.0.1:{port}"
    finally:
        processes.stop([process])


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
