"""The CVC between two requests: encrypted, in memory only, at most 15 minutes, used once.

Redis may lose it at any time; the payer is then asked again (architecture: vault).
"""

import time
from contextlib import suppress
from typing import Any

import structlog
from redis import Redis

from core import keyring, redis

# Real time, not the movable clock: this is about how long the code exists at all.
LIFE_SECONDS = 900

log = structlog.get_logger(__name__)


class HeldCvc(str):
    """A CVC that was held before: to hold it once more makes its life no longer."""

    __slots__ = ("ends_at",)
    ends_at: float  # As `time.monotonic`.


def hold(token: str, cvc: str) -> None:
    """Keep the card's CVC until it is dropped or 15 minutes are over, counted from its typing."""
    left = cvc.ends_at - time.monotonic() if isinstance(cvc, HeldCvc) else LIFE_SECONDS
    if left < 1:
        return
    blob = keyring.ring().seal_cvc(cvc.encode(), context=_context(token))
    with suppress(redis.Away):
        redis.call(lambda client: client.set(_name(token), blob, ex=int(left)))


def look(token: str) -> str | None:
    """Return the card's CVC, None if it is not held.

    The caller drops it once the attempt that uses it is certain: a request that is refused before
    that must not cost the payer the code.
    """
    try:
        blob, seconds = redis.call(lambda client: _read(client, _name(token)))
    except redis.Away:
        return None
    code = _opened(token, blob) if isinstance(blob, bytes) else None
    if code is None:
        return None
    held = HeldCvc(code)
    held.ends_at = time.monotonic() + seconds
    return held


def drop(token: str) -> None:
    """Forget the card's CVC; its life ends by itself if Redis does not hear this."""
    with suppress(redis.Away):
        redis.call(lambda client: client.delete(_name(token)))


def _read(client: Redis, name: str) -> list[Any]:
    asked = client.pipeline(transaction=True)
    asked.get(name)
    asked.ttl(name)
    found: list[Any] = asked.execute()
    return found


def _opened(token: str, blob: bytes) -> str | None:
    try:
        return keyring.ring().open_cvc(blob, context=_context(token)).decode()
    except keyring.SealBroken:
        # The key changed within the 15 minutes, or someone wrote to Redis: no CVC.
        log.warning("cvc_seal_broken", vault_token=token)
        return None


def _name(token: str) -> str:
    return f"held:{token}"


def _context(token: str) -> str:
    return f"vault.cvc|{token}"
