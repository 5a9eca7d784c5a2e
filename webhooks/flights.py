"""What is being sent by this process: how much of it there may be, and how it ended."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings

from webhooks.exchange import Answer, Claimed
from webhooks.own_faults import OwnFaults, Verdict
from webhooks.sender import NotSent, Sender
from webhooks.trips import TooLate, spare_seconds

# An attempt that nobody listened to for more than this part of its time is not counted.
DEAF_PART = 0.1
# Without a file to open, nothing new is taken up for so long.
REST_SECONDS = 1.0
# Endpoints that keep failing have this part of the slots, all together.
DEGRADED_PART = 4

log = structlog.get_logger(__name__)


class Flights:
    """Deliveries from the moment that they are sent until somebody takes what came of them.

    :param faults: is told of every answer, and says which count.
    :param now: tells the time in the movable clock.
    :param landed: called whenever one is over.
    """

    def __init__(
        self, faults: OwnFaults, *, now: Callable[[], datetime], landed: Callable[[], None]
    ) -> None:
        self._faults, self._now, self._landed = faults, now, landed
        self._under_way: dict[asyncio.Task[Answer | None], Claimed] = {}
        self.answers: list[Answer] = []
        # Their leases are to be given back: no attempt was made, or none that counts.
        self.unsent: list[Claimed] = []
        # The seconds between runs, in which nothing under way is heard of.
        self._deaf_seconds = 0.0
        self._rests_until = float("-inf")

    def begin(self, sender: Sender, claimed: Iterable[Claimed]) -> None:
        """Send these."""
        for delivery in claimed:
            task = asyncio.create_task(self._send(sender, delivery))
            self._under_way[task] = delivery
            task.add_done_callback(self._over)

    def room(self) -> tuple[int, int]:
        """Return how many deliveries may be taken up, and how many of them by failing endpoints."""
        if time.monotonic() < self._rests_until:
            return 0, 0
        slots = settings.WEBHOOK_SLOTS
        if self._faults.is_paused:
            # Many are asked for, so that those who do not answer are not alone among them.
            free = slots - len(self._under_way) if self._faults.may_probe() else 0
            return free, free
        degraded = sum(claimed.is_degraded for claimed in self._under_way.values())
        return slots - len(self._under_way), max(0, slots // DEGRADED_PART - degraded)

    def by_merchant(self) -> Counter[str]:
        """Return how many deliveries of each merchant are under way."""
        return Counter(claimed.merchant_id for claimed in self._under_way.values())

    def judge(self, verdict: Verdict) -> None:
        """Take back what was held in doubt, as it was decided."""
        self.answers += verdict.finish
        self.unsent += verdict.release

    def were_deaf_for(self, seconds: float) -> None:
        """Remember that nothing under way was heard of for so long."""
        self._deaf_seconds += seconds

    async def end(self, *, grace_seconds: float) -> None:
        """Wait a little for what is under way, and break the rest off."""
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=grace_seconds)
        await cancel(list(self._under_way))

    async def _send(self, sender: Sender, claimed: Claimed) -> Answer | None:
        # The process may have stood still since: then somebody else sends it.
        if claimed.since.age_seconds > spare_seconds() / 2:
            return None
        deaf_seconds = self._deaf_seconds
        try:
            answer = await sender.post(claimed)
        except TooLate:
            return None
        deaf_seconds = self._deaf_seconds - deaf_seconds
        was_heard = deaf_seconds <= settings.WEBHOOK_TIMEOUT_SECONDS * DEAF_PART
        # Without a status, and we did not listen: it may have been answered.
        return answer if was_heard or answer.status is not None else None

    def _over(self, task: asyncio.Task[Answer | None]) -> None:
        claimed = self._under_way.pop(task)
        if task.cancelled():
            self.unsent.append(claimed)
        elif isinstance(problem := task.exception(), NotSent):
            self._rest(problem)
            self.unsent.append(claimed)
        elif problem:
            # A mistake of ours. It counts as an attempt: else it would be made for ever.
            log.error("webhook_not_sent", delivery=claimed.delivery_id, exc_info=problem)
            self.answers.append(Answer(claimed, None, None, "connection_error", self._now(), 0))
        elif answer := task.result():
            self._faults.take(answer)
        else:
            self.unsent.append(claimed)
        self._landed()

    def _rest(self, problem: NotSent) -> None:
        if time.monotonic() >= self._rests_until:
            log.error("webhooks_lack_files", reason=str(problem.__cause__))
        self._rests_until = time.monotonic() + REST_SECONDS


async def cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks until they have ended: a library may swallow the first time."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.2)
