"""API keys: made, recognised, revoked (contract 5)."""

import secrets
import zlib
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from core import ids
from core.keyring import ring
from core.rest import resources
from merchants.models import ApiKey, Merchant, User

BODY_LENGTH = 43
CHECKSUM_LENGTH = 6
SCOPE_LEVELS = ("none", "read", "write")


def create(
    merchant: Merchant,
    *,
    name: str,
    scopes: dict[str, str] | None = None,
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and return it with its secret, which cannot be read again.

    :raises ValueError: a resource that does not exist, or a level that is not none,
        read or write.
    """
    # A misspelt one would leave the key its default, write.
    if wrong := set(scopes or {}) - set(resources.scopes()):
        raise ValueError(f"unknown resource: {sorted(wrong)}")
    if wrong := set((scopes or {}).values()) - set(SCOPE_LEVELS):
        raise ValueError(f"unknown scope level: {sorted(wrong)}")
    secret = new_secret()
    key = ApiKey.objects.create(
        id=ids.new("key"),
        merchant=merchant,
        name=name,
        hash=secret_hash(secret),
        last4=secret[-4:],
        scopes=scopes or {},
        expires_at=expires_at,
        created_by=created_by,
        created_at=timezone.now(),
    )
    return key, secret


def revoke(key: ApiKey) -> None:
    """Stop a key from the next request on; safe to repeat."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


def prefix() -> str:
    """Return what this installation's keys begin with."""
    return "sk_live_" if settings.LIVEMODE else "sk_sandbox_"


def new_secret() -> str:
    """Return a fresh secret: prefix, 43 random base62 characters, checksum."""
    start = prefix() + ids.random_base62(BODY_LENGTH)
    return start + checksum(start)


def checksum(text: str) -> str:
    """Return the six characters that tell a mistyped key from an unknown one."""
    return ids.base62(zlib.crc32(text.encode()), CHECKSUM_LENGTH)


def is_well_formed(secret: str) -> bool:
    """Tell whether the secret could be one of this installation's keys."""
    start = secret[:-CHECKSUM_LENGTH]
    return (
        secret.isascii()
        and start.startswith(prefix())
        and len(start) == len(prefix()) + BODY_LENGTH
        and secrets.compare_digest(secret[-CHECKSUM_LENGTH:], checksum(start))
    )


def secret_hash(secret: str) -> bytes:
    """Return the keyed hash that the database looks a key up by."""
    return ring().mac("api_key", secret.encode())
