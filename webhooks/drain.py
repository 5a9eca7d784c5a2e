"""The one loop that delivers: take what is due, send it, write down how it went.

Three threads, so that none waits for another: the event loop sends, a second one claims, a third
writes down. Others tidy up and send mail meanwhile. What is under way outlives a run; the next
run goes on with it.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
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
from webhooks.flights import Flights, cancel
from webhooks.listening import listen
from webhooks.own_faults import OwnFaults
from webhooks.sender import Sender
from webhooks.trips import spare_seconds
from webhooks.work_thread import PASSING, WorkThread

LOOK_EVERY_SECONDS = 1.0
# From one round's beginning to the next one's: statements cost by the round, and so little by
# the delivery where many share one. Who comes after a rest does not wait.
ROUND_SECONDS = 0.025
# A claim with so many is followed by the next one at once: several merchants have much to send. Of
# one merchant beside another there are fewer (`webhooks.shares`), and these come by the round.
MUCH = lanes.CLAIM_MAX // 2
# What reached nobody is held back for so long, within the lease.
HOLD_SECONDS = 5.0
# What is under way at the end of the process gets so long; then it is given back.
GRACE_SECONDS = 3.5
BACK_OFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
# How long one thread computes while another one wants to: Python's own 5 ms, for each of a dozen
# statements, would keep the database's threads behind the event loop's.
SWITCH_SECONDS = 0.0005

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
        self._claims, self._ends = WorkThread("webhooks-claims"), WorkThread("webhooks-ends")
        self._faults = OwnFaults(hold_seconds=min(HOLD_SECONDS, spare_seconds() / 4))
        self._flights = Flights(self._faults, now=self._now, landed=self._hear)
        self._sender: Sender | None = None
        self._beside: list[asyncio.Task[None]] = []
        self._clock_offset = timedelta()
        self._something = asyncio.Event()
        self._may_be_due = True
        self._is_much_due = False
        self._looked_at = self._round_began_at = float("-inf")
        self._ends_at = float("inf")
        self._deaf_since: float | None = None
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
        for thread in (self._claims, self._ends):
            thread.close()

    # --- The loop ------------------------------------------------------------------------------

    async def _run(self, seconds: float | None) -> None:
        now = time.monotonic()
        self._ends_at = float("inf") if seconds is None else now + seconds
        self._flights.were_deaf_for(now - (self._deaf_since or now))
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
        self._flights.judge(self._faults.judge())
        if time.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = time.monotonic()
            self._may_be_due = True
        await _both(self._write_down(), self._take_up())

    async def _wait(self) -> None:
        """Wait for something to do, and then for what else comes until the next round."""
        room = 0 if self._faults.is_paused else self._flights.room()[0]
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
        await self._flights.end(grace_seconds=GRACE_SECONDS)
        self._flights.judge(self._faults.give_up())
        try:
            await self._write_down()
        except PASSING as problem:
            log.warning("webhook_leases_left", reason=type(problem).__name__)
        await self._sender.__aexit__()
        await cancel(self._beside)
        log.info("webhooks_stopped")

    # --- Taking up and sending -----------------------------------------------------------------

    async def _take_up(self) -> None:
        slots, degraded_slots = self._flights.room()
        if not self._may_be_due or slots <= 0:
            return
        claim = partial(
            _claim,
            slots=slots,
            degraded_slots=degraded_slots,
            under_way=self._flights.by_merchant(),
        )
        # Before it looks: a wake-up that comes meanwhile counts.
        self._may_be_due = False
        claimed, self._clock_offset = await self._claims.do(claim)
        # As long as there is any, there may be more.
        self._may_be_due |= bool(claimed)
        self._is_much_due = len(claimed) >= MUCH
        if self._sender:
            self._flights.begin(self._sender, self._chosen(claimed))

    def _chosen(self, claimed: Sequence[Claimed]) -> Sequence[Claimed]:
        """Return what to send now: in a pause a few probes, and the rest is given back."""
        signed = [delivery for delivery in claimed if _is_signed(delivery)]
        if not self._faults.is_paused:
            return _fewest_first(signed)
        probes = self._faults.probes(signed)
        self._flights.unsent += [delivery for delivery in signed if delivery not in probes]
        if self._flights.unsent:
            self._hear()
        return probes

    def _wake(self) -> None:
        self._may_be_due = True
        self._hear()

    def _hear(self) -> None:
        self._something.set()

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._clock_offset

    # --- Writing down --------------------------------------------------------------------------

    async def _write_down(self) -> None:
        # Off the lists only when it is written: the database may be away, a row held.
        if answers := list(self._flights.answers):
            left = await self._ends.do(partial(_finish, answers))
            self._flights.answers[: len(answers)] = left
            self._may_be_due |= len(left) < len(answers)
        if unsent := list(self._flights.unsent):
            left_unsent = await self._ends.do(partial(lanes.release, unsent))
            self._flights.unsent[: len(unsent)] = left_unsent


async def _both(*work: Awaitable[None]) -> None:
    """Do both at once; what goes wrong with one is told when the other is over too."""
    for problem in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(problem, BaseException):
            raise problem


def _fewest_first(claimed: Sequence[Claimed]) -> Sequence[Claimed]:
    """Sort them by how many go to the same endpoint: one alone does not wait for eight others."""
    each = Counter(delivery.endpoint_id for delivery in claimed)
    return sorted(claimed, key=lambda delivery: each[delivery.endpoint_id])


def _is_signed(claimed: Claimed) -> bool:
    """Tell whether there is a secret to sign with; without one it is tried again after its lease.

    Given back, it would be claimed again at once, and so for ever.
    """
    if not claimed.secrets:
        log.error("webhook_has_no_secret", endpoint=claimed.endpoint_id)
    return bool(claimed.secrets)


# --- In the threads of the database ---------------------------------------------------------------


def _claim(**room: Any) -> tuple[list[Claimed], timedelta]:
    claimed = lanes.claim(**room)
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
