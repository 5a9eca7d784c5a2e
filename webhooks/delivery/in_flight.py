"""Deliveries in flight: the requests that this process has under way, and their answers."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings

from webhooks.delivery.http.progress import TooLate, spare_seconds
from webhooks.delivery.http.sender import NotSent, Sender
from webhooks.delivery.messages import Answer, Capacity, Claimed
from webhooks.delivery.outage import OutageDetector, Reachability

# If the event loop was stopped for more than this part of an attempt's time-out, the attempt's
# failure does not count: the answer may have come meanwhile.
STOPPED_PART = 0.1
# After the process has run out of open files, it claims nothing for this long.
REST_SECONDS = 1.0
# Degraded endpoints, which keep failing or answer slowly, share one slot in this many.
DEGRADED_PART = 4

log = structlog.get_logger(__name__)


class InFlight:
    """Deliveries from the start of their request until the drain collects the answer.

    :param outage: gets every answer, and decides which of them count.
    :param now: returns the time in the movable clock.
    :param ended: called each time that a request has ended, whatever its result.
    """

    def __init__(
        self, outage: OutageDetector, *, now: Callable[[], datetime], ended: Callable[[], None]
    ) -> None:
        self._outage, self._now, self._ended = outage, now, ended
        self._under_way: dict[asyncio.Task[Answer | None], Claimed] = {}
        self.answers: list[Answer] = []
        # No attempt was made of these, or none that counts: the drain gives their leases back.
        self.unsent: list[Claimed] = []
        # The sum of the times between two runs, in which no answer can be read.
        self._loop_stopped_seconds = 0.0
        self._rests_until = float("-inf")

    def begin(self, sender: Sender, claimed: Iterable[Claimed]) -> None:
        """Start sending each of the deliveries, in a task of its own."""
        for delivery in claimed:
            task = asyncio.create_task(self._send(sender, delivery))
            self._under_way[task] = delivery
            task.add_done_callback(self._over)

    def capacity(self) -> Capacity:
        """Return the free slots: none while files are lacking, all for probes in a pause."""
        slots, degraded_slots = self._free_slots()
        under_way = Counter(claimed.merchant_id for claimed in self._under_way.values())
        return Capacity(slots, degraded_slots, under_way)

    def _free_slots(self) -> tuple[int, int]:
        if time.monotonic() < self._rests_until:
            return 0, 0
        slots = settings.WEBHOOK_SLOTS
        if self._outage.is_paused:
            # A claim for probes takes many deliveries, so that it does not consist of those of
            # silent endpoints alone.
            free = slots - len(self._under_way) if self._outage.may_probe() else 0
            return free, free
        degraded = sum(claimed.is_degraded for claimed in self._under_way.values())
        return slots - len(self._under_way), max(0, slots // DEGRADED_PART - degraded)

    def add(self, verdict: Reachability) -> None:
        """Take over the decided attempts: answers to write down, and leases to give back."""
        self.answers += verdict.finish
        self.unsent += verdict.release

    def loop_was_stopped_for(self, seconds: float) -> None:
        """Remember that no answer could be read for this long."""
        self._loop_stopped_seconds += seconds

    async def end(self, *, grace_seconds: float) -> None:
        """Wait for requests under way, and cancel those that have not ended by then.

        :param grace_seconds: the longest wait.
        """
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=grace_seconds)
        await cancel(list(self._under_way))

    async def _send(self, sender: Sender, claimed: Claimed) -> Answer | None:
        # The process may have been suspended since the claim: another one may then have the lease.
        if claimed.since.age_seconds > spare_seconds() / 2:
            return None
        stopped_seconds = self._loop_stopped_seconds
        try:
            answer = await sender.post(claimed)
        except TooLate:
            return None
        stopped_seconds = self._loop_stopped_seconds - stopped_seconds
        was_watched = stopped_seconds <= settings.WEBHOOK_TIMEOUT_SECONDS * STOPPED_PART
        # An attempt without a status may have been answered while the loop was stopped.
        return answer if was_watched or answer.status is not None else None

    def _over(self, task: asyncio.Task[Answer | None]) -> None:
        claimed = self._under_way.pop(task)
        if task.cancelled():
            self.unsent.append(claimed)
        elif isinstance(problem := task.exception(), NotSent):
            self._rest(problem)
            self.unsent.append(claimed)
        elif problem:
            # A bug of ours. It counts as an attempt: otherwise the delivery would be tried again
            # without end.
            log.error("webhook_attempt_crashed", delivery=claimed.delivery_id, exc_info=problem)
            self.answers.append(Answer(claimed, None, None, "connection_error", self._now(), 0))
        elif answer := task.result():
            self._outage.take(answer)
        else:
            self.unsent.append(claimed)
        self._ended()

    def _rest(self, problem: NotSent) -> None:
        if time.monotonic() >= self._rests_until:
            log.error("webhook_files_exhausted", reason=str(problem.__cause__))
        self._rests_until = time.monotonic() + REST_SECONDS


async def cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks, again if need be, until all have ended: a library may swallow the first."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.2)
