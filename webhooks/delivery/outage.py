"""Outages of our own network, and failures of receivers: an outage must cost no attempts.

An attempt that reached no receiver is held back for a few seconds before it counts. If another
receiver answers meanwhile, our network works, and the attempt counts. If so few receivers can be
reached that the fault must be ours, sending pauses, and the held attempts are given back as if
they had not been made.

A merchant may have many receivers that fail on purpose. So every merchant has one vote, and a
receiver that answered before has to be among the unreached ones.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog

from core.metrics import Counter, Gauge
from webhooks.delivery.messages import Answer, Claimed

# Sending pauses if over four in five of the endpoints that were tried within a minute were not
# reached, every merchant counting the same, and at least five endpoints of three merchants.
UNREACHED_PART = 0.8
ENDPOINTS_MIN = 5
MERCHANTS_MIN = 3
WINDOW_SECONDS = 60.0
# With fewer endpoints: if none was reached, and two of their hosts answered within the hour.
HOSTS_MIN = 2
KNOWN_SECONDS = 3600.0
# No pause begins this soon after an answer. Shorter than `hold_seconds`: a pause has to begin
# before the held attempts count.
QUIET_SECONDS = 3.0
PAUSE_MAX_SECONDS = 300.0
PROBE_EVERY_SECONDS = 2.0
PROBES_MAX = 8

PAUSED = Counter("pay_webhook_pauses_total", "Pauses for a fault of our own network.")
IS_PAUSED = Gauge("pay_webhooks_paused", "Senders that pause now.")

log = structlog.get_logger(__name__)


class _Seen(NamedTuple):
    merchant_id: str
    host: str
    at: float
    was_reached: bool


class Reachability(NamedTuple):
    """Decided attempts: those that count are written, the others are given back untried."""

    finish: list[Answer]
    release: list[Claimed]


class OutageDetector:
    """Decides which attempts of this process count.

    :param hold_seconds: the time that an attempt is held back if it reached no receiver.
    :param now: returns seconds of a clock that only runs forward; all times here are its.
    """

    def __init__(self, *, hold_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._hold_seconds, self._now = hold_seconds, now
        self._last: dict[str, _Seen] = {}  # By endpoint's id, as the next.
        self._answered_at: dict[str, float] = {}
        self._answered: list[Answer] = []
        self._held: list[tuple[float, Answer]] = []
        self._proved_at = self._proof_began_at = float("-inf")
        self._paused_at: float | None = None
        self._probed_at = float("-inf")
        # After a pause that ended by its length, the next one has to wait for an answer: if all
        # receivers are gone for good, their attempts have to be spent at some time.
        self._may_pause = True

    @property
    def is_paused(self) -> bool:
        return self._paused_at is not None

    def take(self, answer: Answer) -> None:
        """Note the answer of one attempt; a later `judge` decides whether the attempt counts."""
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
            self._resume("a receiver answered")

    def judge(self) -> Reachability:
        """Return the attempts that are decided by now; the others are held back on."""
        self._pause_or_resume()
        if self.is_paused:
            return self.give_up()
        finish, self._answered = self._answered, []
        finish += [answer for at, answer in self._held if self._counts(at)]
        self._held = [(at, answer) for at, answer in self._held if not self._counts(at)]
        return Reachability(finish, [])

    def give_up(self) -> Reachability:
        """Return all attempts; those held back are given back, for a pause or the process's end."""
        finish, self._answered = self._answered, []
        release, self._held = [answer.claimed for _at, answer in self._held], []
        return Reachability(finish, release)

    def may_probe(self) -> bool:
        """Return whether probes may be sent now, in a pause; true once every two seconds."""
        if self._now() - self._probed_at < PROBE_EVERY_SECONDS:
            return False
        self._probed_at = self._now()
        return True

    def probes(self, claimed: Iterable[Claimed]) -> list[Claimed]:
        """Return up to eight deliveries to try in a pause, one of each merchant.

        Endpoints that answered lately come first: they say most about our network.
        """
        chosen: dict[str, Claimed] = {}
        for delivery in sorted(claimed, key=self._latest_answer_first):
            chosen.setdefault(delivery.merchant_id, delivery)
        return list(chosen.values())[:PROBES_MAX]

    def _latest_answer_first(self, delivery: Claimed) -> float:
        return -self._answered_at.get(delivery.endpoint_id, float("-inf"))

    def _counts(self, failed_at: float) -> bool:
        # A request that began after this failure was answered, so our network worked.
        is_refuted = self._proof_began_at >= failed_at
        return is_refuted or self._now() - failed_at >= self._hold_seconds

    def _pause_or_resume(self) -> None:
        now = self._now()
        if self._paused_at is not None:
            if now - self._paused_at >= PAUSE_MAX_SECONDS:
                self._may_pause = False
                self._resume("the longest pause is over")
        elif self._held and self._may_pause and self._is_our_fault(now):
            self._paused_at = self._probed_at = now
            PAUSED.count()
            IS_PAUSED.set(1)
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
        # An endpoint that never answered proves little. Before the first answer of this process
        # no endpoint has answered, so then they count.
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
        self._last.clear()  # Failures in the pause say nothing about the time after it.
        IS_PAUSED.set(0)
        log.warning("webhooks_resumed", reason=reason, seconds=seconds)


def _are_many(unreached: Sequence[_Seen]) -> bool:
    merchants = {seen.merchant_id for seen in unreached}
    return len(unreached) >= ENDPOINTS_MIN and len(merchants) >= MERCHANTS_MIN
