"""Signing secrets of endpoints: sealed at rest, shown once, at most two that sign at a time."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import structlog

from core import clock, ids, prepared
from core.keyring import SealBroken, UnknownKey, ring
from webhooks.models import Endpoint, SigningSecret

PREFIX = "whsec_"
RANDOM_CHARACTERS = 32

# The current secret comes first, whatever the movable clock said when it was made. No queryset: a
# claim would spend half of its time on building it and an instance of the model per secret.
SIGNING = """
SELECT id::text, endpoint_id, sealed FROM webhooks_signingsecret
WHERE endpoint_id = ANY(%(endpoints)s::text[])
    AND (expires_at IS NULL OR expires_at > %(now)s::timestamptz)
ORDER BY expires_at IS NOT NULL, created_at DESC
"""

# A process keeps opened secrets in memory for this long.
KEEP_SECONDS = 300.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Opened:
    """The time at which this process last cleared its opened secrets."""

    since: float = 0.0


_opened = _Opened()


def create(endpoint: Endpoint) -> str:
    """Give the endpoint a current secret and return it, in the caller's transaction.

    The HMAC key is the UTF-8 of the whole text, prefix included (contract 2).
    """
    plain = f"{PREFIX}{ids.random_base62(RANDOM_CHARACTERS)}"
    row = SigningSecret(merchant_id=endpoint.merchant_id, endpoint=endpoint, created_at=clock.now())
    row.sealed = ring().seal(plain.encode(), context=row.seal_context)
    row.save(force_insert=True)
    return plain


def roll(endpoint: Endpoint, *, previous_expires_in_seconds: int) -> str:
    """Replace the current secret and return the new one; the endpoint's row is locked.

    The secret before it signs on until it expires (movable clock). One from an earlier roll ends
    at once, because a header carries two signatures at most. Secrets that have ended are
    destroyed.
    """
    now = clock.now()
    secrets = SigningSecret.objects.filter(endpoint=endpoint)
    secrets.exclude(expires_at=None).delete()
    ends_at = now + timedelta(seconds=previous_expires_in_seconds)
    secrets.update(expires_at=ends_at)
    secrets.filter(expires_at__lte=now).delete()
    return create(endpoint)


def destroy_expired() -> int:
    """Destroy the secrets that sign no more, and return their number."""
    expired = SigningSecret.objects.filter(expires_at__lte=clock.now())
    return expired.delete()[0]


def open_for(endpoint_ids: Sequence[str], now: datetime) -> dict[str, tuple[str, ...]]:
    """Return each endpoint's secrets that sign at this moment, the newest first.

    :param now: in the movable clock.
    """
    _clear_now_and_then()
    rows = prepared.rows(SIGNING, {"endpoints": prepared.array(set(endpoint_ids)), "now": now})
    opened = defaultdict(list)
    for secret_id, endpoint_id, sealed in rows:
        try:
            opened[endpoint_id].append(_open(secret_id, endpoint_id, bytes(sealed)))
        except (SealBroken, UnknownKey):
            # Only this endpoint's deliveries wait; those of all others go on.
            log.exception("webhook_secret_unreadable", endpoint=endpoint_id)
    return {endpoint_id: tuple(secrets) for endpoint_id, secrets in opened.items()}


def _clear_now_and_then() -> None:
    """Clear the opened secrets every 5 minutes: rolled and deleted ones must not stay in memory."""
    if time.monotonic() - _opened.since >= KEEP_SECONDS:
        _open.cache_clear()
        _opened.since = time.monotonic()


# Cached, because opening a secret takes longer than all other work of this module for a delivery.
@lru_cache(maxsize=4096)
def _open(secret_id: str, endpoint_id: str, sealed: bytes) -> str:
    row = SigningSecret(id=secret_id, endpoint_id=endpoint_id)
    return ring().open(sealed, context=row.seal_context).decode()
