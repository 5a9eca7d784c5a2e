"""The loop that delivers webhooks: claim due deliveries, send them, write their answers down.

Three threads work side by side, so that none waits for another: the event loop sends, a second
thread claims, a third writes answers to the database. Each chore (tidying, mail) has a thread of
its own. Requests that are under way at the end of a run go on in the next run.
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

import structlog
from django.conf import settings
from django.db import DatabaseError

from core import clock, installation, metrics
from core.memory import keep_what_is_loaded
from webhooks.delivery import chores, lanes
from webhooks.delivery.chores import Chore
from webhooks.delivery.http.connections import allow_files
from webhooks.delivery.http.progress import spare_seconds
from webhooks.delivery.http.sender import Sender
from webhooks.delivery.in_flight import InFlight, cancel
from webhooks.delivery.listening import listen
from webhooks.delivery.messages import Answer, Capacity, Claimed
from webhooks.delivery.outage import OutageDetector
from webhooks.delivery.work_thread import TEMPORARY, WorkThread

# Without a wake-up the loop looks for due deliveries this often.
LOOK_EVERY_SECONDS = 1.0
# The shortest time between the beginnings of two rounds. A round's statements cost about the same
# for one delivery as for many, so deliveries that become due meanwhile share the next round. After
# a longer rest the next round begins at once.
ROUND_SECONDS = 0.025
# After a claim of this many the next one follows at once, without waiting for a round: several
# merchants, or one that is alone, have many deliveries due. One merchant beside others gets fewer
# per claim (`webhooks.delivery.shares`), so its many deliveries come one claim per round.
MANY = lanes.CLAIM_MAX // 2
# An attempt that reached no receiver is held back this long before it counts, so that an outage of
# our own network can be noticed; a quarter of `spare_seconds()` if that is less.
HOLD_SECONDS = 5.0
# At the end of the process, requests under way get this long to finish. The leases of those that
# do not are given back.
GRACE_SECONDS = 3.5
BACK_OFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
# The time that one thread may compute while another one is ready. With Python's default of 5 ms,
# the database's threads would wait so long for the event loop at each of a dozen statements.
SWITCH_SECONDS = 0.0005

UNSIGNED = metrics.Counter(
    "pay_webhook_unsigned_total",
    "Deliveries not sent, because no signing secret of their endpoint could be opened.",
)

log = structlog.get_logger(__name__)

_only_one = Lock()


class AlreadyDraining(Exception):
    """This process already runs a drain; a second one would send beyond `WEBHOOK_SLOTS`."""


class Drain:
    """The delivery loop of one process: call `run` any number of times, then `close` once.

    :param work: repeated work next to the deliveries, each chore in a thread of its own.
    :param sender: makes the `Sender`; tests pass their own name servers and certificates here.
    """

    def __init__(
        self, work: Sequence[Chore] = (), *, sender: Callable[..., Sender] = Sender
    ) -> None:
        self._chores = work
        self._make_sender = sender
        self._runner = asyncio.Runner()
        self._claims, self._ends = WorkThread("webhooks-claims"), WorkThread("webhooks-ends")
        self._outage = OutageDetector(hold_seconds=min(HOLD_SECONDS, spare_seconds() / 4))
        self._in_flight = InFlight(self._outage, now=self._now, ended=self._end_rest)
        self._sender: Sender | None = None
        self._beside: list[asyncio.Task[None]] = []
        self._clock_offset = timedelta()
        self._rest_is_over = asyncio.Event()
        self._may_be_due = True
        self._are_many_due = False
        self._looked_at = self._round_began_at = float("-inf")
        self._ends_at = float("inf")
        self._loop_stopped_at: float | None = None
        self._failures = 0
        self._is_stopping = False

    def run(self, *, seconds: float | None) -> None:
        """Deliver all that is due or becomes due meanwhile.

        :param seconds: the run's length in real time; None runs until `stop`.
        :raises AlreadyDraining: another one is running in this process.
        """
        if not _only_one.acquire(blocking=False):
            raise AlreadyDraining
        try:
            self._runner.run(self._run(seconds))
        finally:
            _only_one.release()

    def stop(self) -> None:
        """End the run after its current round; safe to call from a signal's handler."""
        self._is_stopping = True
        if self._sender:
            self._runner.get_loop().call_soon_threadsafe(self._rest_is_over.set)

    def close(self) -> None:
        """Wait up to 3.5 s for requests under way, give the other leases back, end all threads."""
        self._is_stopping = True
        self._runner.run(self._wind_up())
        self._runner.close()
        for thread in (self._claims, self._ends):
            thread.close()

    # --- The loop ------------------------------------------------------------------------------

    async def _run(self, seconds: float | None) -> None:
        now = time.monotonic()
        self._ends_at = float("inf") if seconds is None else now + seconds
        self._in_flight.loop_was_stopped_for(now - (self._loop_stopped_at or now))
        await self._open()
        while not self._is_stopping and time.monotonic() < self._ends_at:
            self._rest_is_over.clear()
            try:
                await self._round()
            except TEMPORARY as problem:
                await self._back_off(problem)
            else:
                self._failures = 0
                await self._wait()
        self._loop_stopped_at = time.monotonic()

    async def _open(self) -> None:
        if self._sender is None:
            sys.setswitchinterval(SWITCH_SECONDS)
            keep_what_is_loaded()
            log.info("webhooks_started", slots=settings.WEBHOOK_SLOTS)
            if missing := allow_files(settings.WEBHOOK_SLOTS):
                log.warning("webhook_files_too_few", missing=missing)
            self._sender = await self._make_sender(now=self._now).__aenter__()
            listening = chores.keep_doing("listening", partial(listen, self._look_at_once), 0)
            beside = [listening, *chores.all_of(self._chores)]
            self._beside = [asyncio.create_task(work) for work in beside]

    async def _round(self) -> None:
        self._round_began_at = time.monotonic()
        self._in_flight.add(self._outage.judge())
        if time.monotonic() - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = time.monotonic()
            self._may_be_due = True
        await _together(self._write_down(), self._take_up())

    async def _wait(self) -> None:
        """Rest until there is work, and then until the next round, which more work can join."""
        slots = 0 if self._outage.is_paused else self._in_flight.capacity().slots
        if self._are_many_due and slots >= lanes.CLAIM_MAX:
            return
        if not (self._may_be_due and slots > 0):
            with suppress(TimeoutError):
                # The event loop's clock is time.monotonic.
                look_at = self._looked_at + LOOK_EVERY_SECONDS
                async with asyncio.timeout_at(min(look_at, self._ends_at)):
                    await self._rest_is_over.wait()
        await asyncio.sleep(self._round_began_at + ROUND_SECONDS - time.monotonic())

    async def _back_off(self, problem: Exception) -> None:
        seconds = BACK_OFF_SECONDS[min(self._failures, len(BACK_OFF_SECONDS) - 1)]
        self._failures += 1
        log.warning("webhook_database_away", reason=type(problem).__name__)
        await asyncio.sleep(0 if self._is_stopping else seconds)

    async def _wind_up(self) -> None:
        if self._sender is None:
            return
        await self._in_flight.end(grace_seconds=GRACE_SECONDS)
        self._in_flight.add(self._outage.give_up())
        try:
            await self._write_down()
        except TEMPORARY as problem:
            log.warning("webhook_leases_left", reason=type(problem).__name__)
        await self._sender.__aexit__()
        await cancel(self._beside)
        log.info("webhooks_stopped")

    # --- Taking up and sending -----------------------------------------------------------------

    async def _take_up(self) -> None:
        capacity = self._in_flight.capacity()
        if installation.known_to_be_held():
            self._may_be_due = self._are_many_due = False  # The next look is in a second.
            return
        if not self._may_be_due or capacity.slots <= 0:
            return
        # Before the claim begins: a wake-up that comes meanwhile counts.
        self._may_be_due = False
        claimed, self._clock_offset = await self._claims.do(partial(_claim, capacity))
        # A claim that found deliveries may have left others.
        self._may_be_due |= bool(claimed)
        self._are_many_due = len(claimed) >= MANY
        if self._sender:
            self._in_flight.begin(self._sender, self._chosen(claimed))

    def _chosen(self, claimed: Sequence[Claimed]) -> Sequence[Claimed]:
        """Return the deliveries to send now; the others keep their lease or give it back.

        A delivery without a secret keeps it. While sending is paused, all but a few probes give
        theirs back.
        """
        signed = [delivery for delivery in claimed if _is_signed(delivery)]
        if not self._outage.is_paused:
            return _fewest_first(signed)
        probes = self._outage.probes(signed)
        self._in_flight.unsent += [delivery for delivery in signed if delivery not in probes]
        if self._in_flight.unsent:
            self._end_rest()
        return probes

    def _look_at_once(self) -> None:
        self._may_be_due = True
        self._end_rest()

    def _end_rest(self) -> None:
        self._rest_is_over.set()

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._clock_offset

    # --- Writing down --------------------------------------------------------------------------

    async def _write_down(self) -> None:
        # Answers leave the list only once they are written: the database may be away, or another
        # transaction may hold a row. Requests that end meanwhile add theirs behind.
        if answers := list(self._in_flight.answers):
            left = await self._ends.do(partial(_finish, answers))
            self._in_flight.answers[: len(answers)] = left
            self._may_be_due |= len(left) < len(answers)
        if unsent := list(self._in_flight.unsent):
            left_unsent = await self._ends.do(partial(lanes.release, unsent))
            self._in_flight.unsent[: len(unsent)] = left_unsent


async def _together(*work: Awaitable[None]) -> None:
    """Do all of the work at the same time; raise the first error once all of it has ended."""
    for problem in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(problem, BaseException):
            raise problem


def _fewest_first(claimed: Sequence[Claimed]) -> Sequence[Claimed]:
    """Sort deliveries by how many of the claim go to the same endpoint.

    An endpoint's only delivery then does not wait behind the eight of another one.
    """
    each = Counter(delivery.endpoint_id for delivery in claimed)
    return sorted(claimed, key=lambda delivery: each[delivery.endpoint_id])


def _is_signed(claimed: Claimed) -> bool:
    """Return whether the delivery has a secret to sign with.

    Without one it is not sent, and is claimed again when its lease ends. If the lease were given
    back now, the next round would claim it again, and so would every round after.
    """
    if not claimed.secrets:
        log.error("webhook_secret_missing", endpoint=claimed.endpoint_id)
        UNSIGNED.count()
    return bool(claimed.secrets)


# --- In the threads of the database ---------------------------------------------------------------


def _claim(capacity: Capacity) -> tuple[list[Claimed], timedelta]:
    claimed = lanes.claim(capacity)
    return claimed, timedelta(seconds=clock.offset_seconds())


def _finish(answers: Sequence[Answer]) -> list[Answer]:
    try:
        return lanes.finish(answers)
    except TEMPORARY:
        raise
    except DatabaseError:
        # One answer that cannot be written must not hold up the others. It is dropped, and its
        # delivery is sent again when the lease ends.
        if len(answers) == 1:
            log.exception("webhook_answer_not_written", delivery=answers[0].claimed.delivery_id)
            return []
        return [left for answer in answers for left in _finish([answer])]
