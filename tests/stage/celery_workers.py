"""A worker and its beat in a process of their own, at a Redis that may go away."""

from collections.abc import Callable
from pathlib import Path

from celery import Celery
from redis import Redis

from tests.stage.kills import until
from tests.stage.web_process import Running

QUEUE, MANY, SOME, FEW = "default", 120, 20, 30
LOOK = "payments.charging.tasks.watch_cases"
PATIENCE_SECONDS = 120


class Worker(Running):
    """A worker and its beat.

    :param redis: a client at the same place, which shows how much work waits.
    """

    def __init__(self, url: str, redis: Redis, app: Celery, directory: Path) -> None:
        options = ["-Q", QUEUE, "-c", "1", "--without-gossip", "--without-mingle"]
        beat = ["-B", "-s", str(directory / "schedule"), "--pidfile="]
        command = ["celery", "-q", "-A", "config", "worker", *options, *beat]
        super().__init__(directory / "log", command, REDIS_URL=url)
        self._app, self._redis = app, redis

    def give_work(self) -> None:
        with self._app.connection_for_write() as connection:
            for _ in range(MANY):
                self._app.send_task(LOOK, queue=QUEUE, connection=connection)

    def await_some_work_done(self) -> None:
        """Return in the midst of work: the worker holds as much as it may."""
        self._await(lambda: self._redis.llen(QUEUE) <= MANY - SOME)

    def await_last_work_taken(self) -> None:
        """Return when the worker asks for more, with the last messages in its hands."""
        self._await(lambda: self._redis.llen(QUEUE) <= FEW)
        while self._redis.llen(QUEUE):
            pass  # A rest would be longer than the moment.

    def await_beat(self) -> None:
        """Return when messages have come that only beat sends."""
        self._redis.delete("webhooks")
        self._await(lambda: self._redis.llen("webhooks") > 0)

    def _await(self, is_so: Callable[[], bool]) -> None:
        def is_so_or_dead() -> bool:
            return self._process.poll() is not None or is_so()

        until(is_so_or_dead, PATIENCE_SECONDS)
        assert self._process.poll() is None, self.log[-5000:]
