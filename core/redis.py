"""The two spellings of one Redis address, and the client."""

from functools import cache
from urllib.parse import urlsplit

from django.conf import settings
from redis import Redis

COMMAND_TIMEOUT_SECONDS = 0.1


def broker_url(redis_url: str) -> str:
    """Return the address in the form that Celery's transport reads.

    `redis://` stays as it is; `unix:///path` becomes `redis+socket:///path`.
    """
    parts = urlsplit(redis_url)
    return f"redis+socket://{parts.path}" if parts.scheme == "unix" else redis_url


@cache
def client() -> Redis:
    """Return the process's client; a command that takes over 100 ms fails."""
    return Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=COMMAND_TIMEOUT_SECONDS,
        socket_connect_timeout=COMMAND_TIMEOUT_SECONDS,
    )
