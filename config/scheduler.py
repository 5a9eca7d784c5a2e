"""beat's scheduler: due work waits if no worker reads its queue.

Messages expire only when a worker reads them. Where none runs, beat alone would fill its queues for
as long as it lives: the one of webhooks too, where `manage.py deliver_webhooks` runs instead.
"""

from collections import Counter
from functools import cached_property
from typing import Any

from celery.beat import PersistentScheduler
from celery.schedules import schedstate

from core import installation, redis

# So many messages of each piece of work may lie in a queue, on the average.
ROUNDS = 2
LOOK_AGAIN_SECONDS = 1.0


class Scheduler(PersistentScheduler):
    """A scheduler that looks how long a queue is before it puts a message there.

    What it does not put stays due, so that work of once a day is not left out for a day. The same
    while Redis is away, and all work while the database is held as a copy.
    """

    def is_due(self, entry: Any) -> schedstate:
        if installation.known_to_be_held():
            return schedstate(is_due=False, next=LOOK_AGAIN_SECONDS)
        state = super().is_due(entry)
        if state.is_due and not self._has_room(self._queue_of(entry.task)):
            return schedstate(is_due=False, next=LOOK_AGAIN_SECONDS)
        return state

    def _has_room(self, queue: str) -> bool:
        try:
            return redis.call(lambda client: client.llen(queue)) < self._rooms[queue]
        except redis.Away:
            return False

    @cached_property
    def _rooms(self) -> dict[str, int]:
        """Return the number of messages that each queue has room for."""
        tasks = (entry["task"] for entry in self.app.conf.beat_schedule.values())
        round_ = Counter(map(self._queue_of, tasks))
        return {queue: ROUNDS * count for queue, count in round_.items()}

    def _queue_of(self, task: str) -> str:
        return self.app.amqp.router.route({}, task)["queue"].name
