"""The one loop that delivers: take what is due, send it, write down how it went.

Two threads, so that neither waits for the other: the event loop sends, a second one speaks with
the database. Other threads tidy up and send mail meanwhile. What is under way outlives a run; the
next run goes on with it.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError

from core import clock
from core.memory import keep_what_is_loaded
from webhooks import errands, lanes
from webhooks.connections import allow_files
from webhooks.exchange import Answer, Claimed
from webhooks.listening import listen
from webhooks.moments import Moment
from webhooks.own_faults import OwnFaults, Verdict
from webhooks.sender import NotSent, Sender
from webhooks.work_thread import PASSING, WorkThread

LOOK_EVERY_SECONDS = 1.0
# From one round's beginning to the next one's: statements cost by the round, and so little by
# the delivery where many share one. Who comes after a rest does not wait.
ROUND_SECONDS = 0.025
# What reached nobody is held back for so long, within the lease.
HOLD_SECONDS = 5.0
# What is under way at the end of the process gets so long; then it is given back.
GRACE_SECONDS = 3.5
# An attempt that nobody listened to for more than this part of its time is not counted.
DEAF_PART = 0.1
# Without a file to open, nothing new is taken up for so long.
REST_SECONDS = 1.0
BACK_OFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
# How long one thread computes while another one wants to: Python's own 5 ms, for each of a dozen
# statements, would keep the database's thread behind the event loop's.
SWITCH_SECONDS = 0.0005
# Endpoints that keep failing have this part of the slots, all together.
DEGRADED_PART = 4

log = structlog.get_logger(__name__)

_only_one = Lock()


class AlreadyDraining(Exception):
    """This process runs a drain already, which fills its slots."""


class Drain:
    """Delivers: `run` it as often as you like, then `close` it.

    :param sender: what makes the sender; tests give theirs name servers or trust.
    """

    def __init__(self, *, sender: Callable[..., Sender] = Sender) -> None:
        self._make_sender = sender
        self._runner = asyncio.Runner()
        self._database = WorkThread("webhooks-database")
        self._faults = OwnFaults(hold_seconds=min(HOLD_SECONDS, _spare_seconds() / 4))
        self._sender: Sender | None = None
        self._beside: list[asyncio.Task[None]] = []
        self._under_way: dict[asyncio.Task[Answer | None], Claimed] = {}
        self._answers: list[Answer] = []
        self._unsent: list[Claimed] = []
        self._clock_offset = timedelta()
        self._something = asyncio.Event()
        self._may_be_due = True
        self._is_much_due = False
        self._looked_at = self._round_began_at = float("-inf")
        self._ends_at = float("inf")
        # The seconds between runs, in which nothing under way is heard of.
        self._deaf_seconds = 0.0
        self._deaf_since: float | None = None
        self._rests_until = float("-inf")
        self._failures = 0
        self._is_stopping = False

    def run(self, *, seconds: float | None) -> None:
        """Deliver what is due, and what becomes due, for so long; None is until `stop`.

        :raises AlreadyDraining: another one is running in this process.
        """
        if not _only_one.acquire(blocking=False):
            raise AlreadyDraining
        try:
            self._runner.run(self._run(seconds))
        finally:
            _only_one.release()

    def stop(self) -> None:
        """Let the run end at once; may be called by a signal's handler."""
        self._is_stopping = True
        if self._sender:
            self._runner.get_loop().call_soon_threadsafe(self._something.set)

    def close(self) -> None:
        """Wait a little for what is under way, give the rest back, let everything go."""
        self._is_stopping = True
        self._runner.run(self._wind_up())
        self._runner.close()
        self._database.close()

    # --- The loop ------------------------------------------------------------------------------

    async def _run(self, seconds: float | None) -> None:
        now = time.monotonic()
        self._ends_at = float("inf") if seconds is None else now + seconds
        self._deaf_seconds += now - (self._deaf_since or now)
        await self._open()
        while not self._is_stopping and time.monotonic() < self._ends_at:
            self._something.clear()
            try:
                await self._round()
            except PASSING as problem:
                await self._back_off(problem)
            else:
                self._failures = 0
                await self._wait()
        self._deaf_since = time.monotonic()

    async def _open(self) -> None:
        if self._sender is None:
            sys.setswitchinterval(SWITCH_SECONDS)
            keep_what_is_loaded()
            log.info("webhooks_started", slots=settings.WEBHOOK_SLOTS)
            if missing := allow_files(settings.WEBHOOK_SLOTS):
                log.warning("webhooks_may_lack_files", missing=missing)
            self._sender = await self._make_sender(now=self._now).__aenter__()
            listening = errands.keep_doing("listening", partial(listen, self._wake), 0)
            beside = [listening, *errands.all_of_them()]
            self._beside = [asyncio.create_task(work) for work in beside]

    async def _round(self) -> None:
        self._round_began_at = time.monotonic()
        self._judge(self._faults.judge())
        await self._write_down()
        if time.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = time.monotonic()
            self._may_be_due = True
        if self._may_be_due:
            await self._take_up()

    async def _wait(self) -> None:
        """Wait for something to do, and then for what else comes until the next round."""
        room = 0 if self._faults.is_paused else self._room()[0]
        if self._is_much_due and room >= lanes.CLAIM_MAX:
            return
        if not (self._may_be_due and room > 0):
            with suppress(TimeoutError):
                # The event loop's clock is time.monotonic.
                look_at = self._looked_at + LOOK_EVERY_SECONDS
                async with asyncio.timeout_at(min(look_at, self._ends_at)):
                    await self._something.wait()
        await asyncio.sleep(self._round_began_at + ROUND_SECONDS - time.monotonic())

    async def _back_off(self, problem: Exception) -> None:
        seconds = BACK_OFF_SECONDS[min(self._failures, len(BACK_OFF_SECONDS) - 1)]
        self._failures += 1
        log.warning("webhooks_wait_for_database", reason=type(problem).__name__)
        await asyncio.sleep(0 if self._is_stopping else seconds)

    async def _wind_up(self) -> None:
        if self._sender is None:
            return
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=GRACE_SECONDS)
        await _cancel(list(self._under_way))
        self._judge(self._faults.give_up())
        try:
            await self._write_down()
        except PASSING as problem:
            log.warning("webhook_leases_left", reason=type(problem).__name__)
        await self._sender.__aexit__()
        await _cancel(self._beside)
        log.info("webhooks_stopped")

    # --- Taking up and sending -----------------------------------------------------------------

    async def _take_up(self) -> None:
        slots, degraded_slots = self._room()
        if slots <= 0:
            return
        # Before the lease begins, so that ours is never the later end.
        claimed_at = Moment.now()
        claim = partial(_claim, slots=slots, degraded_slots=degraded_slots)
        # Before it looks: a wake-up that comes meanwhile counts.
        self._may_be_due = False
        claimed, self._clock_offset = await self._database.do(claim)
        # As long as there is any, there may be more.
        self._may_be_due |= bool(claimed)
        self._is_much_due = len(claimed) == lanes.CLAIM_MAX
        for delivery in self._chosen(claimed):
            task = asyncio.create_task(self._send(delivery, claimed_at))
            self._under_way[task] = delivery
            task.add_done_callback(self._sent)

    def _chosen(self, claimed: Sequence[Claimed]) -> Sequence[Claimed]:
        """Return what to send now: in a pause a few probes, and the rest is given back."""
        signed = [delivery for delivery in claimed if _is_signed(delivery)]
        if not self._faults.is_paused:
            return _fewest_first(signed)
        probes = self._faults.probes(signed)
        self._unsent += [delivery for delivery in signed if delivery not in probes]
        if self._unsent:
            self._something.set()
        return probes

    def _room(self) -> tuple[int, int]:
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

    async def _send(self, claimed: Claimed, claimed_at: Moment) -> Answer | None:
        # The process may have stood still since: then somebody else sends it.
        if self._sender is None or claimed_at.age_seconds > _spare_seconds() / 2:
            return None
        deaf_seconds = self._deaf_seconds
        answer = await self._sender.post(claimed)
        deaf_seconds = self._deaf_seconds - deaf_seconds
        was_heard = deaf_seconds <= settings.WEBHOOK_TIMEOUT_SECONDS * DEAF_PART
        # Without a status, and we did not listen: it may have been answered.
        return answer if was_heard or answer.status is not None else None

    def _sent(self, task: asyncio.Task[Answer | None]) -> None:
        claimed = self._under_way.pop(task)
        if task.cancelled():
            self._unsent.append(claimed)
        elif isinstance(problem := task.exception(), NotSent):
            self._rest(problem)
            self._unsent.append(claimed)
        elif problem:
            # A mistake of ours. It counts as an attempt: else it would be made for ever.
            log.error("webhook_not_sent", delivery=claimed.delivery_id, exc_info=problem)
            self._answers.append(_failed(claimed, self._now()))
        elif answer := task.result():
            self._faults.take(answer)
        else:
            self._unsent.append(claimed)
        self._something.set()

    def _rest(self, problem: NotSent) -> None:
        if time.monotonic() >= self._rests_until:
            log.error("webhooks_lack_files", reason=str(problem.__cause__))
        self._rests_until = time.monotonic() + REST_SECONDS

    def _wake(self) -> None:
        self._may_be_due = True
        self._something.set()

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._clock_offset

    # --- Writing down --------------------------------------------------------------------------

    def _judge(self, verdict: Verdict) -> None:
        self._answers += verdict.finish
        self._unsent += verdict.release

    async def _write_down(self) -> None:
        # Off the lists only when it is written: the database may be away, a row held.
        if answers := list(self._answers):
            left = await self._database.do(partial(_finish, answers))
            self._answers[: len(answers)] = left
            self._may_be_due |= len(left) < len(answers)
        if unsent := list(self._unsent):
            left_unsent = await self._database.do(partial(lanes.release, unsent))
            self._unsent[: len(unsent)] = left_unsent


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks until they have ended: a library may swallow the first time."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.2)


def _fewest_first(claimed: Sequence[Claimed]) -> Sequence[Claimed]:
    """Sort them by how many go to the same endpoint: one alone does not wait for eight others."""
    each = Counter(delivery.endpoint_id for delivery in claimed)
    return sorted(claimed, key=lambda delivery: each[delivery.endpoint_id])


def _spare_seconds() -> float:
    """Return what the lease has beside the attempt: to begin, to hold back, to write down."""
    return settings.WEBHOOK_LEASE_SECONDS - settings.WEBHOOK_TIMEOUT_SECONDS


def _is_signed(claimed: Claimed) -> bool:
    """Tell whether there is a secret to sign with; without one it is tried again after its lease.

    Given back, it would be claimed again at once, and so for ever.
    """
    if not claimed.secrets:
        log.error("webhook_has_no_secret", endpoint=claimed.endpoint_id)
    return bool(claimed.secrets)


# --- In the database's thread --------------------------------------------------------------------


def _claim(*, slots: int, degraded_slots: int) -> tuple[list[Claimed], timedelta]:
    claimed = lanes.claim(slots=slots, degraded_slots=degraded_slots)
    return claimed, timedelta(seconds=clock.offset_seconds())


def _finish(answers: Sequence[Answer]) -> list[Answer]:
    """Return what has to be written later."""
    try:
        return lanes.finish(answers)
    except PASSING:
        raise
    except DatabaseError:
        # One that cannot be written must not keep the others: its lease runs out.
        if len(answers) == 1:
            log.exception("webhook_not_written", delivery=answers[0].claimed.delivery_id)
            return []
        return [left for answer in answers for left in _finish([answer])]


def _failed(claimed: Claimed, at: datetime) -> Answer:
    return Answer(claimed, None, None, "connection_error", at, 0)
