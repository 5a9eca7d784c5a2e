"""Celery's way to Redis, for processes that outlive it.

kombu closes a channel of a lost connection several times, and gives the messages that it holds
back each time it can. After the connection has been taken away it fails with an `AttributeError`
there: Celery takes that for a bug, and the worker ends. So does an acknowledgement that comes late.
Here both count as a lost connection, and the worker connects again. Work that was not given back
is not lost: beat asks for all work again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError as Gone


class _SaysThatItIsGone:
    """A channel that says so when its connection is gone.

    An upgrade of kombu must pass `tests/config/test_broker.py` and `test_sentinels.py`.
    """

    connection: Any

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        if client is None and not (self.connection and self.connection.client):
            raise Gone("The channel's connection is closed.")
        with super().conn_or_acquire(client) as acquired:  # type: ignore[misc]
            yield acquired


class Channel(_SaysThatItIsGone, redis.Channel):
    pass


class SentinelChannel(_SaysThatItIsGone, redis.SentinelChannel):
    pass


class Transport(redis.Transport):
    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    """To the server that leads, as Sentinels say."""

    Channel = SentinelChannel


def use_for_redis() -> None:
    """Let addresses of Redis mean this transport."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
    TRANSPORT_ALIASES["sentinel"] = f"{__name__}:SentinelTransport"
