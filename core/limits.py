"""How often a merchant may call, an address fail to authenticate, or try passwords (contract 5).

Counted on Redis in one script, which is one round trip and atomic: any stretch of a second
(or minute) is looked at, so that no burst around a full second passes twice the limit. Real
time, and Redis' own: the web machines' clocks differ, and the slowest one's requests would
be counted into a past that the others have left.
"""

import time
from collections import OrderedDict, deque
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Any

from django.conf import settings
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core import redis
from core.errors import DomainError, Explained
from core.metrics import Counter, Label

# The key holds the instants (microseconds, newest first) of what was let through lately, and
# vanishes with the last of them. Instants from the future are of a clock that was set back. A look
# counts nothing.
COUNT = """
local limit, window = tonumber(ARGV[1]), ARGV[2] * 1000000
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
if tonumber(redis.call('LINDEX', KEYS[1], 0) or 0) > now then
    redis.call('DEL', KEYS[1])
end
local oldest = tonumber(redis.call('LINDEX', KEYS[1], limit - 1) or 0)
if now - oldest < window then
    return math.ceil((oldest + window - now) / 1000000)
end
if ARGV[3] == 'look' then
    return 0
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2] * 1000 + 1)
return 0
"""
REFUSED = Counter(
    "pay_rate_refusals_total",
    "Calls refused because there were too many.",
    counted=Label("requests", "failed", "sign_in", "other"),
)
# A customer with one IPv6 address has the whole network of this length.
IPV6_PREFIX_LENGTH = 64


class RateLimited(DomainError):
    explained = Explained(
        cause=(
            "Your account sent more requests within a second than the installation takes, or your "
            "address failed to authenticate too often within a minute."
        ),
        remedy=(
            "Wait as many seconds as `Retry-After` says, then send the same request again. Send "
            "fewer requests at once."
        ),
    )
    code = "rate_limit"
    http_status = 429
    message = "Too many requests. Try again when the time in Retry-After is over."

    def __init__(self, wait_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = wait_seconds


class WithinRate(BasePermission):
    """The merchant has not made too many requests within the last second."""

    def has_permission(self, request: Request, view: Any) -> bool:
        # A merchant, whose id is a text; REST framework's types know users of Django only.
        merchant: Any = request.user
        count_request(merchant.id)
        return True


def count_request(merchant_id: str) -> None:
    """Count a request of the merchant's; without Redis all are let through.

    :raises RateLimited: `RATE_LIMIT_PER_SECOND` were counted within the last second.
    """
    limit = settings.RATE_LIMIT_PER_SECOND
    with suppress(redis.Away):
        _require(_wait_of(f"limit:{merchant_id}", limit=limit, seconds=1), "requests")


def count_failed_authentication(address: str) -> None:
    """Count a request that could not be authenticated; without Redis each process counts.

    :raises RateLimited: `FAILED_AUTHENTICATIONS_PER_MINUTE` were counted within the last.
    """
    _count_of_minute(address, "failed", limit=settings.FAILED_AUTHENTICATIONS_PER_MINUTE)


def count_sign_in(address: str) -> None:
    """Count a typed password, right or wrong, by its address; without Redis each process counts.

    :raises RateLimited: `SIGN_INS_PER_MINUTE` were counted within the last minute.
    """
    _count_of_minute(address, "sign_in", limit=settings.SIGN_INS_PER_MINUTE)


def _count_of_minute(address: str, counted: str, *, limit: int) -> None:
    wait_seconds = note(f"limit:{counted}:{network_of(address)}", limit=limit, seconds=60)
    _require(wait_seconds, counted)


def count(name: str, *, limit: int, seconds: int) -> None:
    """Count one more of a name; without Redis each process counts. A limit of 0 is none.

    :raises RateLimited: `limit` were counted within the last `seconds`.
    """
    _require(note(name, limit=limit, seconds=seconds))


def note(name: str, *, limit: int, seconds: int) -> int:
    """Count as `count` does, and refuse nothing; return in how many seconds it would be counted."""
    try:
        return _wait_of(name, limit=limit, seconds=seconds)
    except redis.Away:
        return counts_here.wait_of(name, limit=limit, seconds=seconds)


def look(name: str, *, limit: int, seconds: int) -> None:
    """Refuse as `count` does, and count nothing."""
    try:
        wait_seconds = _wait_of(name, limit=limit, seconds=seconds, deed="look")
    except redis.Away:
        wait_seconds = counts_here.look(name, limit=limit, seconds=seconds)
    _require(wait_seconds)


def _require(wait_seconds: int, counted: str = "other") -> None:
    if wait_seconds:
        REFUSED.count(counted)
        raise RateLimited(wait_seconds)


def _wait_of(name: str, *, limit: int, seconds: int, deed: str = "count") -> int:
    """Count one more, if fewer than `limit` were counted in the last `seconds`.

    :param deed: `look` counts nothing.
    :return: 0 if it was counted, else in how many seconds the next one will be.
    """
    if limit < 1:
        return 0
    # EVAL and not EVALSHA: a Redis that has just started knows no script, and a second round
    # trip would cost more than sending these few lines.
    return redis.call(lambda client: int(client.eval(COUNT, 1, name, limit, seconds, deed)))


class CountHere:
    """The same count in this process's memory, of the names seen last."""

    def __init__(self, *, names: int) -> None:
        self._names = names
        self._lock = Lock()
        self._counted: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_of(self, name: str, *, limit: int, seconds: int) -> int:
        """Count as `_wait_of` does."""
        now = time.monotonic()
        with self._lock:
            lately = self._counted.setdefault(name, deque(maxlen=limit))
            self._counted.move_to_end(name)
            if len(self._counted) > self._names:
                self._counted.popitem(last=False)
            if len(lately) == limit and now - lately[0] < seconds:
                return int(lately[0] + seconds - now) + 1
            lately.append(now)
            return 0

    def look(self, name: str, *, limit: int, seconds: int) -> int:
        """Return the same without counting."""
        with self._lock:
            lately = self._counted.get(name) or deque()
            left = lately[0] + seconds - time.monotonic() if len(lately) == limit > 0 else 0
        return int(left) + 1 if left > 0 else 0

    def __len__(self) -> int:
        return len(self._counted)


# About 1.5 KB each.
counts_here = CountHere(names=4096)


def network_of(address: str) -> str:
    """Return what stands for the address: itself, or its IPv6 network."""
    try:
        known = ip_address(address)
    except ValueError:
        return address  # Empty, where the web process listens on a Unix socket.
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return str(ip_network((known, IPV6_PREFIX_LENGTH), strict=False))
