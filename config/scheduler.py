"""beat's scheduler: due work waits if no worker reads its queue, and while another beat leads.

Messages expire only when a worker reads them. Where none runs, beat alone would fill its queues for
as long as it lives: the one of webhooks too, where `manage.py deliver_webhooks` runs instead.

Of several beats one leads, by a key in Redis that it renews each second. Another one takes over
some seconds after it has ended. For a moment two may lead: every task may run twice.
"""

import secrets
import time
from collections import Counter
from contextlib import suppress
from functools import cached_property
from typing import Any

from celery.beat import PersistentScheduler
from celery.schedules import schedstate
from redis import Redis

from core import installation, redis

# So many messages of each piece of work may lie in a queue, on the average.
ROUNDS = 2
LOOK_AGAIN_SECONDS = 1.0
# In Redis: the beat that leads, for so long after it was last seen.
LEADER, LEADS_SECONDS = "beat:leader", 5


class Scheduler(PersistentScheduler):
    """A scheduler that looks how long a queue is before it puts a message there.

    What it does not put stays due, so that work of once a day is not left out for a day. The same
    while Redis is away, and all work while the database is held as a copy.
    """

    def is_due(self, entry: Any) -> schedstate:
        if installation.known_to_be_held() or not self._leads():
            return schedstate(is_due=False, next=LOOK_AGAIN_SECONDS)
        state = super().is_due(entry)
        if state.is_due and not self._has_room(self._queue_of(entry.task)):
            return schedstate(is_due=False, next=LOOK_AGAIN_SECONDS)
        return state

    def close(self) -> None:
        """Write down what has begun, and let another beat lead at once."""
        super().close()
        if self._is_leader:
            with suppress(redis.Away):
                redis.call(lambda client: client.delete(LEADER))

    _name = cached_property(lambda _self: secrets.token_hex(8))
    _is_leader, _looked_at = False, float("-inf")

    def _leads(self) -> bool:
        """Return whether this beat gives the work; one that does looks once a second."""
        is_fresh = time.monotonic() - self._looked_at < LOOK_AGAIN_SECONDS
        if not (self._is_leader and is_fresh):
            self._looked_at = time.monotonic()
            try:
                self._is_leader = redis.call(self._take_lead)
            except redis.Away:
                self._is_leader = False
        return self._is_leader

    def _take_lead(self, client: Redis) -> bool:
        if client.set(LEADER, self._name, nx=True, ex=LEADS_SECONDS):
            return True
        if client.get(LEADER) != self._name.encode():
            return False
        return bool(client.expire(LEADER, LEADS_SECONDS))

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
