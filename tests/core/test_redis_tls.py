"""Redis over TLS: client, listener and broker verify its certificate, and work with a right one."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ConnectionError as Gone

from config import broker
from core import redis, redis_connections
from tests.stage.receivers import Authority
from tests.stage.redis_places import OwnRedis, redis_at

pytestmark = pytest.mark.slow


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()


@contextmanager
def tls_before(url: str, context: ssl.SSLContext) -> Iterator[int]:
    """A port that speaks TLS, in front of a Redis that does not."""
    port_of_redis = urlsplit(url).port
    loop = asyncio.new_event_loop()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", port_of_redis)
        await asyncio.gather(_pass_on(reader, ours), _pass_on(theirs, writer))

    server = loop.run_until_complete(asyncio.start_server(meet, "127.0.0.1", 0, ssl=context))
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """TLS in front of a Redis, and the file of the authority that has signed its certificate."""
    authority = Authority(tmp_path)
    file = tmp_path / "authority.pem"
    file.write_text(authority.pem)
    own = OwnRedis(tmp_path)
    try:
        with tls_before(own.url, authority.server()) as port:
            yield port, file
    finally:
        own.kill()


def use_all_three(url: str) -> list[str]:
    """Return who got an answer: client, listener, broker."""
    answered = []
    # The service gives Redis a fraction of a second; a busy machine needs more for TLS.
    patient = [patch.object(room, "BUDGET_SECONDS", 30.0) for room in (redis, redis_connections)]
    with redis_at(url), patient[0], patient[1], suppress(Gone):
        redis.client().ping()
        answered.append("client")

    async def ping() -> None:
        async with AsyncRedis.from_url(url, socket_connect_timeout=10) as client:
            await client.ping()

    with suppress(Gone):
        asyncio.run(ping())
        answered.append("listener")
    broker.use_for_redis()
    with suppress(Gone, OperationalError), Connection(redis.broker_url(url)) as connection:
        connection.connect()
        connection.default_channel.client.ping()
        answered.append("broker")
    return answered


def test_all_three_users_of_redis_work_over_tls(port: tuple[int, Path]) -> None:
    number, authority = port

    url = f"rediss://127.0.0.1:{number}/0?ssl_ca_certs={authority}"

    assert use_all_three(url) == ["client", "listener", "broker"]


def test_a_certificate_of_nobody_is_refused_by_all_three(port: tuple[int, Path]) -> None:
    number, _authority = port

    assert use_all_three(f"rediss://127.0.0.1:{number}/0") == []
