"""The CVC between two requests: encrypted, in memory only, at most 15 minutes, used once.

Redis may lose it at any time; the payer is then asked again (architecture: vault).
"""

from contextlib import suppress

import structlog

from core import keyring, redis

# Real time, not the movable clock: this is about how long the code exists at all.
LIFE_SECONDS = 900

log = structlog.get_logger(__name__)


def hold(token: str, cvc: str) -> None:
    """Keep the card's CVC until it is dropped or 15 minutes are over."""
    blob = keyring.ring().seal_cvc(cvc.encode(), context=_context(token))
    with suppress(redis.Away):
        redis.call(lambda client: client.set(_name(token), blob, ex=LIFE_SECONDS))


def look(token: str) -> str | None:
    """Return the card's CVC, None if it is not held.

    The caller drops it once the attempt that uses it is certain: a request that is refused before
    that must not cost the payer the code.
    """
    try:
        blob = redis.call(lambda client: client.get(_name(token)))
    except redis.Away:
        return None
    return _opened(token, blob) if isinstance(blob, bytes) else None


def drop(token: str) -> None:
    """Forget the card's CVC; its life ends by itself if Redis does not hear this."""
    with suppress(redis.Away):
        redis.call(lambda client: client.delete(_name(token)))


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
