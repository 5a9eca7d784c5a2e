"""What deliveries are signed with: sealed at rest, shown once, two at a time at most."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import structlog

from core import clock, ids, statements
from core.keyring import SealBroken, UnknownKey, ring
from webhooks.models import Endpoint, SigningSecret

PREFIX = "whsec_"
RANDOM_CHARACTERS = 32

# The current one is the newest, whatever the clock said when it was made. No queryset: a claim
# would spend half of its time on building it and a model's instance for each secret.
SIGNING = """
SELECT id::text, endpoint_id, sealed FROM webhooks_signingsecret
WHERE endpoint_id = ANY(%(endpoints)s::text[]) AND (expires_at IS NULL OR expires_at > %(now)s)
ORDER BY expires_at IS NOT NULL, created_at DESC
"""

# A process keeps what it has opened for so long.
KEEP_SECONDS = 300.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Opened:
    """Since when this process keeps what it opens."""

    since: float = 0.0


_opened = _Opened()


def create(endpoint: Endpoint) -> str:
    """Give the endpoint a current secret and return it, in the caller's transaction.

    The HMAC key is the UTF-8 of the whole text, prefix included (contract 2).
    """
    plain = f"{PREFIX}{ids.random_base62(RANDOM_CHARACTERS)}"
    row = SigningSecret(endpoint=endpoint, created_at=clock.now())
    row.sealed = ring().seal(plain.encode(), context=row.seal_context)
    row.save(force_insert=True)
    return plain


def roll(endpoint: Endpoint, *, previous_expires_in_seconds: int) -> str:
    """Replace the current secret and return the new one; the endpoint's row is locked.

    The one before signs on until it expires (movable clock), and one from an earlier roll
    ends at once: a header carries two signatures at most. What has ended is destroyed.
    """
    now = clock.now()
    secrets = SigningSecret.objects.filter(endpoint=endpoint)
    secrets.exclude(expires_at=None).delete()
    ends_at = now + timedelta(seconds=previous_expires_in_seconds)
    secrets.update(expires_at=ends_at)
    secrets.filter(expires_at__lte=now).delete()
    return create(endpoint)


def destroy_expired() -> int:
    """Destroy what signs no more, and return how many it was."""
    expired = SigningSecret.objects.filter(expires_at__lte=clock.now())
    return expired.delete()[0]


def open_for(endpoint_ids: Sequence[str], now: datetime) -> dict[str, tuple[str, ...]]:
    """Return each endpoint's secrets that sign at this moment, the newest first.

    :param now: in the movable clock.
    """
    _clear_now_and_then()
    rows = statements.rows(SIGNING, {"endpoints": statements.array(set(endpoint_ids)), "now": now})
    opened = defaultdict(list)
    for secret_id, endpoint_id, sealed in rows:
        try:
            opened[endpoint_id].append(_open(secret_id, endpoint_id, bytes(sealed)))
        except (SealBroken, UnknownKey):
            # One endpoint's trouble: all others' deliveries go on.
            log.exception("webhook_secret_does_not_open", endpoint=endpoint_id)
    return {endpoint_id: tuple(secrets) for endpoint_id, secrets in opened.items()}


def _clear_now_and_then() -> None:
    """Let go of what was opened: what was rolled or deleted since is not kept in memory."""
    if time.monotonic() - _opened.since >= KEEP_SECONDS:
        _open.cache_clear()
        _opened.since = time.monotonic()


# Opening takes longer than all else that a delivery needs from here.
@lru_cache(maxsize=4096)
def _open(secret_id: str, endpoint_id: str, sealed: bytes) -> str:
    row = SigningSecret(id=secret_id, endpoint_id=endpoint_id)
    return ring().open(sealed, context=row.seal_context).decode()
