"""API keys: made, rolled, recognised, revoked (contract 5)."""

import secrets
import unicodedata
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core import ids
from core.detection import contains_card_number
from core.keyring import ring
from core.keyring.needs import Retired
from core.names import is_legible
from core.rest import resources
from core.secrets_in_text import holds_secret_key
from merchants import audit_log
from merchants.models import ApiKey, Merchant, User
from merchants.refusals import ChangeRefused

PURPOSE = "api_key"
# In a refusal; `--revoke-unused` revokes all.
NAMED_MAX = 10
BODY_LENGTH = 43
CHECKSUM_LENGTH = 6
SCOPE_LEVELS = ("none", "read", "write")
NAME_MAX = 100
# Control characters, and those that hide, turn or break what stands beside them.
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
LIVE_KEYS_MAX = 100
EXPIRY_MAX = timedelta(days=2 * 366)
DAY_SECONDS = 86_400
# How long a key that is rolled still works: not at all, an hour, a day, a week.
ROLL_SECONDS = (0, 3600, DAY_SECONDS, 7 * DAY_SECONDS)


class KeyRefused(ChangeRefused):
    """A key that may not be made so; the text says why.

    :param param: the value that is refused, if it is one.
    """

    def __init__(self, text: str, *, param: str | None = None) -> None:
        self.param = param
        super().__init__(text)


def create(
    merchant: Merchant,
    *,
    name: str,
    scopes: dict[str, str] | None = None,
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and return it with its secret, which cannot be read again.

    :param expires_at: in the future, within two years; None for a key that does not expire.
    :raises ValueError: a resource that does not exist, or a level that is not none,
        read or write.
    :raises KeyRefused: the name, the expiry, or one key too many.
    """
    # A misspelt one would leave the key its default, write.
    if wrong := set(scopes or {}) - set(resources.scopes()):
        raise ValueError(f"unknown resource: {sorted(wrong)}")
    if wrong := set((scopes or {}).values()) - set(SCOPE_LEVELS):
        raise ValueError(f"unknown scope level: {sorted(wrong)}")
    _require_name(name)
    _require_expiry(expires_at)
    draft = ApiKey(name=name, scopes=scopes or {}, expires_at=expires_at, created_by=created_by)
    with transaction.atomic():
        _require_room(merchant)
        secret = _write(merchant, draft)
        after = _shown(draft)
        audit_log.record("key.created", merchant=merchant, subject=draft.id, after=after)
    return draft, secret


def roll(
    key: ApiKey,
    expires_in: int = DAY_SECONDS,
    *,
    expires_at: datetime | None = None,
    created_by: User | None = None,
    reason: str | None = None,
) -> tuple[ApiKey, str]:
    """Make a key in the place of another, with its name and scopes, and return it with its secret.

    :param expires_in: seconds until the old key ends, one of `ROLL_SECONDS`; an old key that would
        have ended before does.
    :param expires_at: of the new key, as `create` takes it: the old key's is not taken over.
    :param created_by: the person who rolls it.
    :raises KeyRefused: the old key is revoked or has expired; or as `create`.
    """
    if expires_in not in ROLL_SECONDS:
        text = f"The old key ends after one of {ROLL_SECONDS} seconds."
        raise KeyRefused(text, param="expires_in")
    _require_expiry(expires_at)
    with transaction.atomic():
        _require_room(key.merchant, ending=None if expires_in else key)
        old = ApiKey.objects.select_for_update(of=("self",)).get(pk=key.pk)
        now = timezone.now()
        if not is_live(old, now):
            raise KeyRefused("The key is revoked or has expired.")
        draft = ApiKey(
            name=old.name, scopes=old.scopes, expires_at=expires_at, created_by=created_by
        )
        secret = _write(key.merchant, draft)
        before = {"expires_at": old.expires_at}
        ends_at = now + timedelta(seconds=expires_in)
        old.expires_at = min(old.expires_at or ends_at, ends_at)
        old.save(update_fields=["expires_at"])
        after = {"expires_at": old.expires_at, "new_key": {"id": draft.id, **_shown(draft)}}
        audit_log.record(
            "key.rolled", merchant=key.merchant, subject=old.id, before=before, after=after,
            reason=reason,
        )  # fmt: skip
    return draft, secret


def revoke(key: ApiKey, *, reason: str | None = None, **unless_changed: str) -> bool:
    """Stop a key from the next request on; safe to repeat. Return whether it was in use.

    :param unless_changed: columns that it must still have; otherwise it stays.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = ApiKey.objects.filter(pk=key.pk, revoked_at=None, **unless_changed)
        if rows.update(revoked_at=now):
            before, after = {"revoked_at": None}, {"revoked_at": now}
            audit_log.record(
                "key.revoked", merchant=key.merchant, subject=key.id, before=before, after=after,
                reason=reason,
            )  # fmt: skip
            return True
    return False


def _write(merchant: Merchant, draft: ApiKey) -> str:
    secret = new_secret()
    draft.id = ids.new("key")
    draft.merchant = merchant
    draft.hash, draft.hashed_with = secret_hash(secret), ring().primaries[PURPOSE]
    draft.last4 = secret[-4:]
    draft.created_at = timezone.now()
    draft.save(force_insert=True)
    return secret


def _shown(key: ApiKey) -> dict[str, Any]:
    shown = ("name", "last4", "scopes", "expires_at")
    return {name: getattr(key, name) for name in shown}


def is_live(key: ApiKey, now: datetime) -> bool:
    """Return whether a key works at an instant, in real time."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


def _require_name(name: str) -> None:
    if not 1 <= len(name.strip()) <= NAME_MAX or len(name) > NAME_MAX:
        raise KeyRefused(f"A key's name has 1 to {NAME_MAX} characters.", param="name")
    if not is_legible(name) or any(unicodedata.category(one) in INVISIBLE for one in name):
        raise KeyRefused("There is an invisible character in the key's name.", param="name")
    if contains_card_number(name):
        raise KeyRefused("There is a card number in the key's name.", param="name")
    if holds_secret_key(name):
        raise KeyRefused("There is a secret key in the key's name.", param="name")


def _require_expiry(expires_at: datetime | None) -> None:
    now = timezone.now()
    if expires_at and not now < expires_at <= now + EXPIRY_MAX:
        raise KeyRefused("A key expires within two years, or not at all.", param="expires_at")


def _require_room(merchant: Merchant, *, ending: ApiKey | None = None) -> None:
    """Lock the merchant, and refuse one key more than may work.

    :param ending: a key that ends in the caller's transaction; it is not counted.
    """
    # The lock on the merchant lets keys that are made at the same time count one after the other.
    Merchant.objects.select_for_update(no_key=True).only("id").get(id=merchant.id)
    now = timezone.now()
    live = ApiKey.objects.for_merchant(merchant).filter(revoked_at=None)
    if ending:
        live = live.exclude(pk=ending.pk)
    if live.exclude(expires_at__lte=now).count() >= LIVE_KEYS_MAX:
        raise KeyRefused(f"A merchant has up to {LIVE_KEYS_MAX} keys that work.")


LIVE, SANDBOX = "sk_live_", "sk_sandbox_"


def prefix() -> str:
    """Return what this installation's keys begin with."""
    return LIVE if settings.LIVEMODE else SANDBOX


def is_of_the_other_kind(secret: str) -> bool:
    """Return whether a text begins as a live key in a sandbox, or as a sandbox's key in live."""
    return secret.startswith(SANDBOX if settings.LIVEMODE else LIVE)


def new_secret() -> str:
    """Return a fresh secret: prefix, 43 random base62 characters, checksum."""
    start = prefix() + ids.random_base62(BODY_LENGTH)
    return start + checksum(start)


def checksum(text: str) -> str:
    """Return the six check characters by which a mistyped key is known."""
    return ids.base62(zlib.crc32(text.encode()), CHECKSUM_LENGTH)


def is_well_formed(secret: str) -> bool:
    """Return whether the secret could be one of this installation's keys."""
    start = secret[:-CHECKSUM_LENGTH]
    return (
        secret.isascii()
        and start.startswith(prefix())
        and len(start) == len(prefix()) + BODY_LENGTH
        and secrets.compare_digest(secret[-CHECKSUM_LENGTH:], checksum(start))
    )


def secret_hash(secret: str) -> bytes:
    """Return the keyed hash of a new key, by which the database looks it up."""
    return secret_hashes(secret)[0]


def secret_hashes(secret: str) -> list[bytes]:
    """Return the hashes that a key may be kept by, under each of the key ring's keys."""
    return ring().macs(PURPOSE, secret.encode())


# --- A change of the key ring's key -----------------------------------------------------------


def renewed(key: ApiKey, secret: str) -> dict[str, Any]:
    """Return the columns to write of a key whose hash is of an earlier key; none of another one."""
    if key.hashed_with not in ring().superseded:
        return {}
    return {"hash": secret_hash(secret), "hashed_with": ring().primaries[PURPOSE]}


def needed(key: Retired) -> Iterator[str]:
    """Yield which keys that work were not used since the change."""
    if unused := [row.id for row in _live_with(key.name)]:
        named = ", ".join(unused[:NAMED_MAX])
        more = f" and {len(unused) - NAMED_MAX} more" if len(unused) > NAMED_MAX else ""
        yield (
            f"{len(unused)} API keys were not used since the change, {named}{more}: let them be "
            "used or rolled, or purge it with --revoke-unused"
        )


def revoke_unused(name: str) -> int:
    """Revoke the keys that were not used since the change of a key; return how many."""
    reason = f"Not used before {name} was purged."
    return sum(revoke(row, reason=reason, hashed_with=name) for row in _live_with(name))


def _live_with(name: str) -> list[ApiKey]:
    rows = ApiKey.objects.filter(hashed_with=name, revoked_at=None)
    ended = rows.exclude(expires_at__lte=timezone.now())
    return list(ended.select_related("merchant").order_by("id"))
