"""Redis that Sentinels watch: they know which server leads, and choose another when it is gone."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from redis import ConnectionPool, Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from core.redis_connections import (
    AskedConnection,
    AskedTlsConnection,
    LedConnection,
    LedTlsConnection,
)

CLEAR, TLS = "redis+sentinel", "rediss+sentinel"
PORT = 26379
HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
PATH = re.compile(r"/(?P<name>[A-Za-z0-9._-]+)(?:/(?P<database>[0-9]{1,4}))?")
ASKED_AS = ("sentinel_username", "sentinel_password")
TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
FORM = f"{TLS}://user:password@host:{PORT},host:{PORT},host:{PORT}/name/0"


@dataclass(frozen=True, slots=True)
class Watched:
    """A Redis that Sentinels watch over.

    :param name: the Sentinels' name for it.
    :param at_redis: user name and password at the servers of Redis; `database` is a number.
    :param at_sentinels: the same at the Sentinels, which may ask for none.
    :param tls: files of certificates; None without TLS. It holds for the Sentinels too.
    """

    sentinels: tuple[tuple[str, int], ...]
    name: str
    database: int
    at_redis: Mapping[str, Any] = field(repr=False)
    at_sentinels: Mapping[str, Any] = field(repr=False)
    tls: Mapping[str, Any] | None


def is_watched(url: str) -> bool:
    """Return whether an address names Sentinels, and not the server itself."""
    return url.partition(":")[0].lower() in (CLEAR, TLS)


def read(url: str) -> Watched:
    """Read an address such as `redis+sentinel://host:26379,host:26379/name/0`.

    :raises ValueError: it is none; the text repeats nothing of it, for it may hold a password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"Write it as {FORM}.") from None
    credentials, _, places = parts.netloc.rpartition("@")
    path, options = PATH.fullmatch(parts.path), dict(parse_qsl(parts.query))
    hosts = [HOST.fullmatch(place) for place in places.split(",")]
    known = {*ASKED_AS, *(TLS_OPTIONS if parts.scheme == TLS else ())}
    if path is None or not all(hosts) or not known.issuperset(options) or parts.fragment:
        raise ValueError(f"Write it as {FORM}.")
    user, _, password = credentials.partition(":")
    given = {"username": unquote(user), "password": unquote(password)}
    asked = {name.removeprefix("sentinel_"): options[name] for name in ASKED_AS if name in options}
    return Watched(
        sentinels=tuple(
            (one["host"].strip("[]"), int(one["port"] or PORT)) for one in hosts if one
        ),
        name=path["name"],
        database=int(path["database"] or 0),
        at_redis={name: value for name, value in given.items() if value},
        at_sentinels=asked,
        tls=_tls(options) if parts.scheme == TLS else None,
    )


def client(watched: Watched, **terms: Any) -> Redis:
    """Return a client that asks the Sentinels for the leading server at each new connection.

    :param terms: of its connections to Redis.
    """
    is_open = watched.tls is None
    led: Redis = _manager(watched).master_for(  # type: ignore[no-untyped-call]
        watched.name,
        connection_class=LedConnection if is_open else LedTlsConnection,
        db=watched.database,
        **watched.at_redis,
        **(watched.tls or {}),
        **terms,
    )
    return led


@asynccontextmanager
async def listening_client(watched: Watched, **terms: Any) -> AsyncIterator[AsyncRedis]:
    """Give a client of an event loop, at the leading server, and close all its connections.

    :param terms: of its connections, to Redis and to the Sentinels.
    """
    tls: dict[str, Any] = {} if watched.tls is None else {"ssl": True, **watched.tls}
    manager = AsyncSentinel(  # type: ignore[no-untyped-call]
        watched.sentinels, sentinel_kwargs={**watched.at_sentinels, **tls, **terms}
    )
    led: AsyncRedis = manager.master_for(
        watched.name, db=watched.database, **watched.at_redis, **tls, **terms
    )
    try:
        async with led:
            yield led
    finally:
        for sentinel in manager.sentinels:
            await sentinel.aclose()


def replicas(watched: Watched, **terms: Any) -> list[Redis]:
    """Return a client for each server that follows the leading one.

    :raises RedisError: no Sentinel answers.
    """
    found = _manager(watched).discover_slaves(watched.name)  # type: ignore[no-untyped-call]
    tls: dict[str, Any] = {} if watched.tls is None else {"ssl": True, **watched.tls}
    return [
        Redis(host=host, port=port, db=watched.database, **watched.at_redis, **tls, **terms)
        for host, port in found
    ]


def broker_url(watched: Watched) -> str:
    """Return the address in the form that Celery's transport reads: one for each Sentinel."""
    given = (watched.at_redis.get(one, "") for one in ("username", "password"))
    user, password = (quote(one, safe="") for one in given)
    credentials = f"{user}:{password}@" if user or password else ""
    return ";".join(
        f"sentinel://{credentials}{f'[{host}]' if ':' in host else host}:{port}/{watched.database}"
        for host, port in watched.sentinels
    )


def broker_options(watched: Watched, timeouts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Celery's transport needs besides the address.

    :param timeouts: of connections to the Sentinels, in seconds.
    """
    tls: dict[str, Any] = {} if watched.tls is None else {"ssl": True, **watched.tls}
    return {
        "master_name": watched.name,
        "sentinel_kwargs": {**watched.at_sentinels, **timeouts, **tls},
    }


def _manager(watched: Watched) -> Sentinel:
    manager = Sentinel([])  # type: ignore[no-untyped-call]
    asked = AskedConnection if watched.tls is None else AskedTlsConnection
    # One try, and a short one: the next Sentinel is asked within the same 100 ms.
    common: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "protocol": 2, "driver_info": None}
    manager.sentinels = [
        Redis.from_pool(
            ConnectionPool(
                connection_class=asked, host=host, port=port,
                **watched.at_sentinels, **(watched.tls or {}), **common,
            )
        )
        for host, port in watched.sentinels
    ]  # fmt: skip
    return manager


def _tls(options: Mapping[str, str]) -> dict[str, str]:
    return {name: options[name] for name in TLS_OPTIONS if name in options}
