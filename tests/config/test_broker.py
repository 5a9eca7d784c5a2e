"""Redis is killed beside Celery's processes: they outlive it, whatever they hold."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

import pytest
from celery import Celery
from kombu import Connection, Consumer, Message, Queue
from kombu.common import ignore_errors
from redis import Redis

from config import celery as _with_our_transport  # noqa: F401
from tests.stage.celery_workers import PATIENCE_SECONDS, QUEUE, Worker
from tests.stage.lengths import length, tried
from tests.stage.redis_places import OwnRedis

KILLS = length(short=2, full=20)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnRedis]:
    own = OwnRedis(tmp_path)
    yield own
    own.kill()


@pytest.fixture
def app(own: OwnRedis) -> Iterator[Celery]:
    app = Celery("tests", broker=own.url, set_as_current=False)
    yield app
    app.close()


# --- The seam, where kombu and Celery meet a connection that is gone -----------------------------


@pytest.fixture
def held(app: Celery) -> Iterator[tuple[Connection, Message]]:
    """A worker's connection, that waits for messages and for commands, and holds one message."""
    connection, messages = app.connection_for_read(), list[Message]()
    queue = Queue(QUEUE, routing_key=QUEUE)
    Consumer(connection.default_channel, [queue], on_message=messages.append).consume()
    app.control.mailbox.Node("worker@here", channel=connection.channel()).listen()
    connection.Producer().publish({}, routing_key=QUEUE, declare=[queue])
    while not messages:
        connection.drain_events(timeout=PATIENCE_SECONDS)
    with suppress(OSError):
        connection.drain_events(timeout=0.01)  # It waits for the next one from now on.
    return connection, messages[0]


def close_as_celery_does(connection: Connection) -> None:
    """Close as `celery.worker.consumer` does, which lets connection errors pass, and no others."""
    with suppress(Exception):
        connection.collect()
    ignore_errors(connection, connection.close)


def test_a_connection_that_is_gone_can_be_closed(
    own: OwnRedis, held: tuple[Connection, Message]
) -> None:
    own.kill()

    close_as_celery_does(held[0])


def test_a_message_of_a_connection_that_is_gone_can_be_acknowledged(
    own: OwnRedis, held: tuple[Connection, Message], caplog: pytest.LogCaptureFixture
) -> None:
    connection, message = held
    own.kill()
    close_as_celery_does(connection)

    message.ack_log_error(logging.getLogger("worker"), connection.connection_errors)

    assert "Couldn't ack" in caplog.text


# --- Whole processes -----------------------------------------------------------------------------


@pytest.mark.proof(part="chaos")
@pytest.mark.timeout(600)
@pytest.mark.dear("a worker and its beat are started, and do some hundred tasks")
@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_worker_and_beat_outlive_redis_under_load(
    own: OwnRedis, app: Celery, tmp_path: Path
) -> None:
    worker = Worker(own.url, Redis.from_url(own.url, socket_timeout=10), app, tmp_path)
    moments = cycle([worker.await_last_work_taken, worker.await_some_work_done])
    try:
        for moment in islice(moments, KILLS):
            worker.give_work()
            moment()
            own.kill()
            own.start()
        worker.give_work()
        worker.await_some_work_done()
        worker.await_beat()
    finally:
        worker.stop()
    tried(KILLS, "kills of Redis under load")
