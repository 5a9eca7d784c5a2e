"""Redis, which may be away at any time: its addresses, the client, the circuit around it."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from core import redis_sentinels
from core.circuit import Circuit, CircuitOpen
from core.once import once
from core.redis_connections import (
    BUDGET_SECONDS,
    PromptConnection,
    PromptTlsConnection,
    PromptUnixConnection,
)

FAILURES_TO_OPEN = 3
OPEN_SECONDS = 2.0
# Of a look before the opening; no request waits for it.
REPLICA_SECONDS = 5.0
CONNECTIONS = {
    "redis": PromptConnection,
    "rediss": PromptTlsConnection,
    "unix": PromptUnixConnection,
}

T = TypeVar("T")


class Away(Exception):
    """Redis did not do what it was asked; every caller has a way to go on without it."""


def broker_url(redis_url: str) -> str:
    """Return the address in the form that Celery's transport reads.

    `redis://` stays as it is; `unix:///path?db=1` becomes `redis+socket:///path?virtual_host=1`;
    Sentinels become addresses of their own. Of `rediss://` the transport verifies no certificate
    unless the address says so; our own client always does.
    """
    if redis_sentinels.is_watched(redis_url):
        return redis_sentinels.broker_url(redis_sentinels.read(redis_url))
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        [database] = parse_qs(parts.query).get("db", ["0"])
        return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"
    if parts.scheme == "rediss" and "ssl_cert_reqs" not in parse_qs(parts.query):
        query = "&".join(filter(None, [parts.query, "ssl_cert_reqs=required"]))
        return urlunsplit(parts._replace(query=query))
    return redis_url


def call(command: Callable[[Redis], T]) -> T:
    """Run a command: `call(lambda redis: redis.get(name))`.

    It takes 100 ms at most, and no time at all while the circuit is open.

    :raises Away: no answer in time, a refusal by Redis, or an open circuit.
    """
    try:
        return circuit().call(lambda: command(client()))
    except (RedisError, CircuitOpen) as problem:
        raise Away from problem


@once
def client() -> Redis:
    """Return the process's client; requests use it through `call`."""
    terms: dict[str, Any] = {
        "socket_connect_timeout": BUDGET_SECONDS,
        # A second try would have to come out of the same 100 ms.
        "retry": Retry(NoBackoff(), 0),
        # The fewest round trips on a new connection: neither HELLO nor CLIENT SETINFO.
        "protocol": 2,
        "driver_info": None,
    }
    url = settings.REDIS_URL
    if redis_sentinels.is_watched(url):
        return redis_sentinels.client(redis_sentinels.read(url), **terms)
    return Redis.from_url(url, connection_class=CONNECTIONS[urlsplit(url).scheme], **terms)


def replicas() -> list[Redis]:
    """Return a client for each server that follows the leading one; without Sentinels none.

    :raises Away: no Sentinel answers.
    """
    url = settings.REDIS_URL
    if not redis_sentinels.is_watched(url):
        return []
    timeouts = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), REPLICA_SECONDS)
    try:
        return redis_sentinels.replicas(redis_sentinels.read(url), **timeouts)
    except RedisError as problem:
        raise Away from problem


@once
def circuit() -> Circuit:
    """Return the process's circuit around Redis."""
    return Circuit("redis", failure=RedisError, times=FAILURES_TO_OPEN, seconds=OPEN_SECONDS)
