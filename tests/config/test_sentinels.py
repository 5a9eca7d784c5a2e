"""Redis behind Sentinels: client, listener, broker and worker follow the server that leads."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from config import broker, deployment
from core import redis, redis_connections, redis_sentinels
from core.redis_sentinels import Watched
from tests.stage.celery_workers import Worker
from tests.stage.kills import until
from tests.stage.receivers import Authority
from tests.stage.redis_places import Tls, WatchedRedis, redis_at
from webhooks.delivery import listening, wakeups

HOSTS = (("10.0.0.1", 26379), ("sentinel.internal", 5000), ("::1", 26379))
GONE = (RedisError, OperationalError, OSError)
ADDRESS = "redis+sentinel://10.0.0.1,sentinel.internal:5000,[::1]/pay/3"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedRedis]:
    watched = WatchedRedis(tmp_path)
    try:
        with redis_at(watched.url):
            yield watched
    finally:
        watched.end()


def does(command: str) -> bool:
    with suppress(redis.Away):
        return bool(redis.call(lambda client: client.set("who", command)))
    return False


class Listening:
    """The listener of a process that delivers."""

    def __init__(self) -> None:
        self.woken = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def hears(self) -> bool:
        """Publish, and return whether it has heard anything by now."""
        with suppress(redis.Away):
            redis.call(lambda client: client.publish(wakeups.CHANNEL, "x"))
        return self.woken > 1  # The first is its own, at the subscription.

    def forget(self) -> None:
        self.woken = 1

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)
        self._loop.close()

    def _wake(self) -> None:
        self.woken += 1

    def _run(self) -> None:
        self._task = self._loop.create_task(listening.listen(self._wake))
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_all_three_follow_the_server_that_leads(watched: WatchedRedis, tmp_path: Path) -> None:
    broker.use_for_redis()
    place = redis_sentinels.read(watched.url)
    app = Celery("tests", broker=redis.broker_url(watched.url), set_as_current=False)
    app.conf.broker_transport_options = redis_sentinels.broker_options(
        place, {"socket_timeout": 5.0, "socket_connect_timeout": 5.0}
    )
    shows = redis_sentinels.client(place, socket_timeout=10)
    listener, worker = Listening(), Worker(watched.url, shows, app, tmp_path)
    try:
        until(listener.hears)
        worker.give_work()
        worker.await_some_work_done()

        watched.kill_sentinel()
        watched.leading.kill()
        until(lambda: watched.leader() == watched.following.port)
        until(lambda: does("killed"))
        listener.forget()
        until(listener.hears)
        worker.give_work()
        worker.await_some_work_done()
        worker.await_beat()

        # The one of before comes back, follows, and is chosen.
        watched.leading.start()
        until(lambda: fails_over_to_first(watched))
        until(lambda: does("chosen"))
        listener.forget()
        until(listener.hears)
        worker.give_work()
        worker.await_some_work_done()
    finally:
        worker.stop()
        listener.end()
        app.close()
        shows.close()


def fails_over_to_first(watched: WatchedRedis) -> bool:
    with suppress(redis.RedisError):  # It does not know the replica yet, or is about to fail over.
        watched.fail_over()
    return watched.leader() == watched.leading.port


# --- TLS --------------------------------------------------------------------------------------


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    file = tmp_path / "authority.pem"
    file.write_text("")
    return file


@pytest.fixture
def watched_by_tls(tmp_path: Path, trusted: Path) -> Iterator[WatchedRedis]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed: the embedded Valkey has no TLS")
    authority = Authority(tmp_path)
    trusted.write_text(authority.pem)
    watched = WatchedRedis(tmp_path, Tls(program, authority.certificate("127.0.0.1"), trusted))
    # The service gives Redis a fraction of a second; a busy machine needs more for TLS.
    patient = [patch.object(room, "BUDGET_SECONDS", 30.0) for room in (redis, redis_connections)]
    try:
        with redis_at(watched.url), patient[0], patient[1]:
            yield watched
    finally:
        watched.end()


def publishes(url: str) -> bool:
    """Return whether Celery reaches the broker by its own transport."""
    place = redis_sentinels.read(url)
    app = Celery("tests", broker=redis.broker_url(url), set_as_current=False)
    app.conf.broker_transport_options = redis_sentinels.broker_options(
        place, {"socket_timeout": 5.0, "socket_connect_timeout": 5.0}
    )
    app.conf.broker_use_ssl = {"ssl_cert_reqs": "required", **(place.tls or {})}
    try:
        with suppress(*GONE), app.connection_for_write() as connection:
            connection.default_channel.client.ping()
            return True
        return False
    finally:
        app.close()


@pytest.mark.slow
def test_all_three_follow_over_tls_and_trust_no_other_authority(
    watched_by_tls: WatchedRedis, tmp_path: Path
) -> None:
    broker.use_for_redis()
    watched, listener = watched_by_tls, Listening()
    try:
        until(lambda: does("first"))
        until(listener.hears)
        assert publishes(watched.url)

        watched.leading.kill()
        until(lambda: watched.leader() == watched.following.port)
        until(lambda: does("second"))
        listener.forget()
        until(listener.hears)
        until(lambda: publishes(watched.url))
    finally:
        listener.end()

    other = tmp_path / "other"
    other.mkdir()
    stranger = other / "authority.pem"
    stranger.write_text(Authority(other).pem)
    elsewhere = watched.url.replace(str(tmp_path / "authority.pem"), str(stranger))
    assert elsewhere != watched.url
    with redis_at(elsewhere):
        assert not does("third")
    assert not publishes(elsewhere)


@pytest.mark.slow
def test_a_replica_that_writes_to_a_disk_is_found(watched: WatchedRedis) -> None:
    until(lambda: does("answers"))
    assert [one.code for one in deployment._redis()] == []

    with Redis(port=watched.following.port) as replica:
        replica.config_set("repl-diskless-load", "disabled")
        assert [one.code for one in deployment._redis()] == ["E021"]
        replica.config_set("save", "60 1")
        assert [one.code for one in deployment._redis()] == ["E010", "E021"]


# --- Addresses --------------------------------------------------------------------------------


def test_an_address_names_all_sentinels() -> None:
    assert redis_sentinels.read(ADDRESS) == Watched(HOSTS, "pay", 3, {}, {}, None)


def test_passwords_and_certificates_are_for_their_servers() -> None:
    read = redis_sentinels.read(
        "rediss+sentinel://me:p%40s%2Fs@one,two/pay?sentinel_password=w&ssl_ca_certs=/etc/ca.pem"
    )

    assert read.at_redis == {"username": "me", "password": "p@s/s"}
    assert (read.at_sentinels, read.tls) == ({"password": "w"}, {"ssl_ca_certs": "/etc/ca.pem"})
    assert redis_sentinels.broker_url(read) == (
        "sentinel://me:p%40s%2Fs@one:26379/0;sentinel://me:p%40s%2Fs@two:26379/0"
    )
    assert "p@s/s" not in repr(read)


@pytest.mark.parametrize(
    "address",
    [
        "redis+sentinel://one,two",
        "redis+sentinel://one,two/",
        "redis+sentinel://one,,two/pay",
        "redis+sentinel://one:x/pay",
        "redis+sentinel://one/pay/first",
        "redis+sentinel://one/pay?timeout=1",
        "redis+sentinel://one/pay?ssl_ca_certs=/etc/ca.pem",
        "redis+sentinel://:hunter2@/pay",
        "redis+sentinel://:hunter2[@one/pay",
        "redis+sentinel://:hunter2℀@one/pay",
    ],
)
def test_another_form_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(ValueError, match="Write it as") as refusal:
        redis_sentinels.read(address)

    assert "hunter2" not in str(refusal.value)
