"""Listening for wake-ups through Redis, by which the loop learns at once that a delivery is due.

While Redis is away no delivery is lost: the loop looks for due ones every second anyway.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog
from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from core import redis_sentinels
from webhooks.delivery.wakeups import CHANNEL

TRY_AGAIN_SECONDS = 1.0
HEALTH_CHECK_SECONDS = 10

log = structlog.get_logger(__name__)


async def listen(wake: Callable[[], None]) -> None:
    """Call `wake` at every wake-up until canceled; while Redis is away, connect every second."""
    is_known_to_be_away = False
    while True:
        try:
            await _follow(wake)
        except (RedisError, OSError) as problem:
            if not is_known_to_be_away:
                log.info("webhook_wakeups_lost", reason=type(problem).__name__)
            is_known_to_be_away = True
        await asyncio.sleep(TRY_AGAIN_SECONDS)


async def _follow(wake: Callable[[], None]) -> None:
    async with _client() as client, client.pubsub(ignore_subscribe_messages=True) as channel:
        await channel.subscribe(CHANNEL)
        # Wake-ups from before the subscription did not arrive: look once for due deliveries.
        wake()
        while True:
            if await channel.get_message(timeout=HEALTH_CHECK_SECONDS):
                wake()


def _client() -> AbstractAsyncContextManager[Redis]:
    terms: dict[str, Any] = {
        "socket_connect_timeout": TRY_AGAIN_SECONDS,
        "socket_timeout": HEALTH_CHECK_SECONDS,
        "health_check_interval": HEALTH_CHECK_SECONDS,
    }
    url = settings.REDIS_URL
    if redis_sentinels.is_watched(url):
        return redis_sentinels.listening_client(redis_sentinels.read(url), **terms)
    return Redis.from_url(url, **terms)
