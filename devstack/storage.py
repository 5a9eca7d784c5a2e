"""The databases and the Redis of a run: the developer's own, or embedded ones.

An address in the environment wins; an embedded server is started for each that is missing.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from devstack.servers import Servers
from devstack.state import CannotContinue


class Storage(NamedTuple):
    database_url: str
    bank_database_url: str
    redis_url: str
    # Of the roles that own the databases; empty where the service's own do.
    owner_database_url: str = ""
    owner_bank_database_url: str = ""

    @property
    def owners_urls(self) -> tuple[str, str]:
        """The addresses at which both databases are made and migrated."""
        return (
            self.owner_database_url or self.database_url,
            self.owner_bank_database_url or self.bank_database_url,
        )


def open_storage(servers: Servers, given: Mapping[str, str], *, prefix: str = "") -> Storage:
    """Return the given addresses, and start embedded servers for those that are not given.

    :param prefix: the beginning of the names in `given` (`TEST_`)
    """
    database_url = given.get(f"{prefix}DATABASE_URL", "")
    bank_url = given.get(f"{prefix}BANK_DATABASE_URL", "")
    redis_url = given.get(f"{prefix}REDIS_URL", "")
    owner_url = given.get(f"{prefix}OWNER_DATABASE_URL", "")
    owner_bank_url = given.get(f"{prefix}OWNER_BANK_DATABASE_URL", "")
    if not database_url:
        servers.start_postgres()
        database_url, bank_url = servers.database_address("app"), servers.database_address("bank")
        owner_url, owner_bank_url = servers.owners_address("app"), servers.owners_address("bank")
    return Storage(
        database_url=database_url,
        bank_database_url=bank_url or bank_address(database_url),
        redis_url=redis_url or servers.start_valkey(),
        owner_database_url=owner_url,
        owner_bank_database_url=owner_bank_url or (owner_url and bank_address(owner_url)),
    )


def bank_address(database_url: str) -> str:
    """Return the address of the test bank's database next to one's own: `shop`, `shop_bank`."""
    parts = urlsplit(database_url)
    return urlunsplit(parts._replace(path=f"{parts.path}_bank"))


def make_if_missing(url: str) -> None:
    """Create the database unless it answers.

    :raises CannotContinue: it neither answers nor can be made.
    """
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError as no_answer:
        _make(url, no_answer)


def _make(url: str, no_answer: psycopg.OperationalError) -> None:
    parts = urlsplit(url)
    neighbour = urlunsplit(parts._replace(path="/postgres"))
    name = sql.Identifier(parts.path.removeprefix("/"))
    try:
        with psycopg.connect(neighbour, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
    except psycopg.Error as refusal:
        place = f"{parts.hostname or 'the local server'}{parts.path}"
        raise CannotContinue(
            f"The database {place} does not answer ({no_answer}) and cannot be made ({refusal})."
        ) from refusal
