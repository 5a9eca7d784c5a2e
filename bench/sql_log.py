"""The SQL that one request sent to PostgreSQL, read from the server's own log.

Not by hooks in the service: the log has what every connection of every process sent,
whichever way, and the processes that are asked are the ones that were measured.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg import sql

from devstack.servers import SUPERUSER

# The process (its name in PGAPPNAME) and its session. A record's further lines begin with a tab.
LOG_OPTIONS = {"log_line_prefix": "bench:%a:%c:", "log_error_verbosity": "default"}
RECORD = re.compile(
    r"^bench:(?P<who>[^:]*):(?P<session>[^:]*):(?P<level>[A-Z]+): +(?P<text>.*(?:\n\t.*)*)", re.M
)
SQL = re.compile(r"(?:statement|execute [^:]*): (.*)", re.S)
PARAMETER = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')")
# Until a change of the setting has reached every connection, and what was said has been written.
SETTLING_SECONDS = 0.3
# Work that a request leaves to be done just after its answer is counted with it.
AFTERMATH_SECONDS = 0.5


class SqlCommand(NamedTuple):
    """One statement with its parameters put in; `who` is the name of the asking process."""

    who: str
    session: str
    text: str


def during(log: Path, request: Callable[[], object]) -> list[SqlCommand]:
    """Return the statements that one request caused, in order."""
    before = log.stat().st_size
    request()
    time.sleep(AFTERMATH_SECONDS)
    with log.open("rb") as file:
        file.seek(before)
        return read(file.read().decode(errors="replace"))


def read(text: str) -> list[SqlCommand]:
    """Read PostgreSQL's log."""
    commands: list[SqlCommand] = []
    for record in RECORD.finditer(text):
        said = record["text"].replace("\n\t", "\n")
        if record["level"] == "DETAIL" and commands:
            commands.append(_with_parameters(commands.pop(), said))
        elif asked := SQL.fullmatch(said):
            commands.append(SqlCommand(record["who"], record["session"], asked[1].strip()))
    return commands


def _with_parameters(command: SqlCommand, detail: str) -> SqlCommand:
    values = dict(PARAMETER.findall(detail))
    text = re.sub(r"\$(\d+)\b", lambda mark: values.get(mark[1], mark[0]), command.text)
    return command._replace(text=text)


@contextmanager
def logged(url: str) -> Iterator[None]:
    """Let the server write down every statement of every connection, until the block ends."""
    _log_sql(url, "all")
    try:
        yield
    finally:
        _log_sql(url, "none")


def _log_sql(url: str, which: str) -> None:
    with psycopg.connect(url, user=SUPERUSER, autocommit=True) as connection:
        setting = sql.SQL("ALTER SYSTEM SET log_statement = {}").format(which)
        connection.execute(setting)
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(SETTLING_SECONDS)
