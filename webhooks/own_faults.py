"""Telling our own network's faults from the receivers': nobody's attempts are spent on ours.

An attempt that reached nobody is held back for a few seconds before it counts. Either somebody
else answers in the meantime, then the network works; or so many reach nobody that it cannot be
them, then sending pauses and what is held back is given back untried.

A merchant may have receivers that fail on purpose, and many of them: each merchant has one vote,
and somebody who answered before has to be among those who are not reached.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog

from webhooks.exchange import Answer, Claimed

# Over four in five of what merchants have, that many not reached, within a minute.
UNREACHED_PART = 0.8
ENDPOINTS_MIN = 5
MERCHANTS_MIN = 3
WINDOW_SECONDS = 60.0
# Where there are fewer: all that were tried, and that many hosts that answered within the hour.
HOSTS_MIN = 2
KNOWN_SECONDS = 3600.0
# Nobody at all may have answered for so long; below what is held back.
QUIET_SECONDS = 3.0
PAUSE_MAX_SECONDS = 300.0
PROBE_EVERY_SECONDS = 2.0
PROBES_MAX = 8

log = structlog.get_logger(__name__)


class _Seen(NamedTuple):
    merchant_id: str
    host: str
    at: float
    was_reached: bool


class Verdict(NamedTuple):
    """What is to become of the attempts that are over."""

    finish: list[Answer]
    release: list[Claimed]


class OwnFaults:
    """Judges attempts; all times are in the seconds of a clock that only runs forward.

    :param hold_seconds: how long an attempt that reached nobody is held back.
    """

    def __init__(self, *, hold_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._hold_seconds, self._now = hold_seconds, now
        self._last: dict[str, _Seen] = {}  # By endpoint, as the next.
        self._answered_at: dict[str, float] = {}
        self._answered: list[Answer] = []
        self._held: list[tuple[float, Answer]] = []
        self._proved_at = self._proof_began_at = float("-inf")
        self._paused_at: float | None = None
        self._probed_at = float("-inf")
        # A pause that ended by its length is not begun again until somebody answers: if they
        # are all gone for good, their attempts have to be spent some time.
        self._may_pause = True

    @property
    def is_paused(self) -> bool:
        return self._paused_at is not None

    def take(self, answer: Answer) -> None:
        """Note how an attempt went; `judge` says later what becomes of it."""
        claimed, now = answer.claimed, self._now()
        seen = _Seen(claimed.merchant_id, urlsplit(claimed.url).netloc, now, answer.was_reached)
        self._last[claimed.endpoint_id] = seen
        if answer.was_reached:
            self._answered.append(answer)
        else:
            self._held.append((now, answer))
        if answer.status is not None:
            self._proved_at = self._answered_at[claimed.endpoint_id] = now
            self._proof_began_at = max(self._proof_began_at, now - answer.duration_ms / 1000)
            self._may_pause = True
            self._resume("somebody answered")

    def judge(self) -> Verdict:
        """Return what may be written down now, and what is to be given back untried."""
        self._pause_or_resume()
        if self.is_paused:
            return self.give_up()
        finish, self._answered = self._answered, []
        finish += [answer for at, answer in self._held if self._counts(at)]
        self._held = [(at, answer) for at, answer in self._held if not self._counts(at)]
        return Verdict(finish, [])

    def give_up(self) -> Verdict:
        """Return everything, with what is held back given back untried: the process ends."""
        finish, self._answered = self._answered, []
        release, self._held = [answer.claimed for _at, answer in self._held], []
        return Verdict(finish, release)

    def may_probe(self) -> bool:
        """Tell whether, in a pause, a few may be tried now; said once each two seconds."""
        if self._now() - self._probed_at < PROBE_EVERY_SECONDS:
            return False
        self._probed_at = self._now()
        return True

    def probes(self, claimed: Iterable[Claimed]) -> list[Claimed]:
        """Return what tells most about our network: one of each merchant, best known first."""
        chosen: dict[str, Claimed] = {}
        for delivery in sorted(claimed, key=self._unknown_for):
            chosen.setdefault(delivery.merchant_id, delivery)
        return list(chosen.values())[:PROBES_MAX]

    def _unknown_for(self, delivery: Claimed) -> float:
        return -self._answered_at.get(delivery.endpoint_id, float("-inf"))

    def _counts(self, failed_at: float) -> bool:
        # Somebody was asked after it failed, and answered: so it was not our network.
        is_refuted = self._proof_began_at >= failed_at
        return is_refuted or self._now() - failed_at >= self._hold_seconds

    def _pause_or_resume(self) -> None:
        now = self._now()
        if self._paused_at is not None:
            if now - self._paused_at >= PAUSE_MAX_SECONDS:
                self._may_pause = False
                self._resume("it lasted too long")
        elif self._held and self._may_pause and self._is_our_fault(now):
            self._paused_at = self._probed_at = now
            log.warning("webhooks_paused", endpoints=len(self._last))

    def _is_our_fault(self, now: float) -> bool:
        if now - self._proved_at < QUIET_SECONDS:
            return False
        self._forget_old(now)
        unreached = [seen for seen in self._last.values() if not seen.was_reached]
        known = {
            seen.host
            for endpoint, seen in self._last.items()
            if not seen.was_reached and endpoint in self._answered_at
        }
        if len(unreached) == len(self._last) and len(known) >= HOSTS_MIN:
            return True
        # Whoever never answered says little, but for the first ones of a process.
        is_known = bool(known) or not self._answered_at
        return is_known and _are_many(unreached) and self._unreached_part() > UNREACHED_PART

    def _unreached_part(self) -> float:
        by_merchant = defaultdict(list)
        for seen in self._last.values():
            by_merchant[seen.merchant_id].append(not seen.was_reached)
        return fmean(map(fmean, by_merchant.values()))

    def _forget_old(self, now: float) -> None:
        self._last = {
            endpoint: seen
            for endpoint, seen in self._last.items()
            if now - seen.at <= WINDOW_SECONDS
        }
        self._answered_at = {
            endpoint: at for endpoint, at in self._answered_at.items() if now - at <= KNOWN_SECONDS
        }

    def _resume(self, reason: str) -> None:
        if self._paused_at is None:
            return
        seconds = round(self._now() - self._paused_at)
        self._paused_at = None
        self._last.clear()  # What was seen in the pause says nothing about who is there now.
        log.warning("webhooks_resumed", reason=reason, seconds=seconds)


def _are_many(unreached: Sequence[_Seen]) -> bool:
    merchants = {seen.merchant_id for seen in unreached}
    return len(unreached) >= ENDPOINTS_MIN and len(merchants) >= MERCHANTS_MIN
