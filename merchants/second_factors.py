"""Second factors: whether a person needs one and has one; their secrets are sealed."""

import base64
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import transaction

from core.keyring import SealBroken, ring
from core.keyring.needs import Retired
from merchants import audit_log, sessions
from merchants.models import User

PURPOSE = "second_factor"
# The members of a row's data that are sealed: an app's secret, and of recovery codes the seed, or
# codes of before there was one.
SEALED = ("secret", "seed", "migrated_codes")
# In the data of a passkey: the most that it has counted.
COUNTER = "counter"
# Recovery codes alone are none: they stand in for one of these.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def is_required_of(user: Any) -> bool:
    """Return whether a person has to have a second factor; operators always do in live."""
    is_operator_in_live = settings.LIVEMODE and user.is_staff
    return settings.SECOND_FACTOR == "required" or is_operator_in_live


def is_missing(user: Any) -> bool:
    """Return whether a person needs a second factor and has none."""
    return is_required_of(user) and not has_one(user)


def has_one(user: Any) -> bool:
    """Return whether a password alone does not let the person in."""
    return Authenticator.objects.filter(user_id=user.pk, type__in=FACTORS).exists()


def has_app(user: Any) -> bool:
    """Return whether the person has an authenticator app."""
    rows = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP)
    return rows.exists()


def people_with_one(people: Collection[int]) -> set[int]:
    """Return those of the people, by their keys, whom a password alone does not let in."""
    rows = Authenticator.objects.filter(user_id__in=people, type__in=FACTORS)
    return set(rows.values_list("user_id", flat=True))


def use_up(user: Any, code: str) -> None:
    """Let a code be worth nothing any more: the person's app was just added by it."""
    app = Authenticator.objects.get(user_id=user.pk, type=Authenticator.Type.TOTP)
    # As at a sign-in, which takes each code once.
    app.wrap().validate_code(code)


@transaction.atomic
def counts_on(passkey: Authenticator, counter: int) -> bool:
    """Keep what a passkey counted at its use; return whether it counts on from the use before.

    Many count nothing, and always say 0.
    """
    row = Authenticator.objects.select_for_update().get(pk=passkey.pk)
    known: int = row.data.get(COUNTER, row.wrap().authenticator_data.counter)
    if counter > known:
        row.data[COUNTER] = counter
        row.save(update_fields=["data"])
    return counter > known or counter == known == 0


@transaction.atomic
def take_off(user: User, *, reason: str) -> bool:
    """Remove all second factors of a person who lost them, and end their sessions.

    Their password alone lets them in then, as far as `SECOND_FACTOR` allows: to making another.

    :param reason: the operator's, for the audit log.
    :return: whether there were any.
    """
    had, _ = Authenticator.objects.filter(user_id=user.pk).delete()
    if had:
        sessions.end_all_of(user)
        audit_log.record_of_person("mfa.removed", user, after={"factor": "all"}, reason=reason)
    return bool(had)


# --- Their secrets ----------------------------------------------------------------------------


def seal(secret: str) -> str:
    """Return a secret as it may be stored, in base64."""
    blob = ring().seal_for(PURPOSE, secret.encode(), context=PURPOSE)
    return base64.b64encode(blob).decode("ascii")


def opened(sealed: str) -> str:
    """Return the secret that was sealed.

    :raises core.keyring.SealBroken: it was changed, or is of another key ring.
    """
    return ring().open_for(PURPOSE, base64.b64decode(sealed), context=PURPOSE).decode()


def are_sealed() -> bool:
    """Return whether any secret is stored that the key of this purpose opens."""
    return Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).exists()


# --- A change of their key --------------------------------------------------------------------


def reseal() -> int:
    """Seal again, under the primary key, what its earlier keys have sealed; return how many rows.

    Each row in a transaction of its own: it may die anywhere, and the next run goes on. A process
    whose key ring is yesterday's turns no row back.
    """
    behind = [row.pk for row in _rows() if _keys_of(row) & ring().superseded]
    return sum(map(_reseal_one, behind))


def needed(key: Retired) -> Iterator[str]:
    """Yield whether rows are sealed with a key of this purpose."""
    if count := sum(key.name in _keys_of(row) for row in _rows()):
        yield f"{count} second factors are sealed with it: run `manage.py vault_rotate`"


def readable() -> Iterator[tuple[str, bool]]:
    """Yield the number of each row with secrets, and whether the key ring opens all of them."""
    for row in _rows():
        yield str(row.pk), len(_secrets_of(row)) == len(list(_openers_of(row)))


@transaction.atomic(durable=True)
def _reseal_one(pk: int) -> bool:
    row = Authenticator.objects.select_for_update().filter(pk=pk).first()
    if row is None:
        return False
    row.data = {
        name: _changed(value) if name in SEALED else value for name, value in row.data.items()
    }
    row.save(update_fields=["data"])
    return True


def _changed(value: Any) -> Any:
    return [_resealed(one) for one in value] if isinstance(value, list) else _resealed(value)


def _resealed(sealed: str) -> str:
    try:
        return seal(opened(sealed))
    except (SealBroken, ValueError):
        return sealed  # A broken one opens under no key, and holds no other one up.


def _rows() -> Iterator[Authenticator]:
    return Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).iterator()


def _keys_of(row: Authenticator) -> set[str]:
    """Return the names of the keys that a row's secrets open by; one that is broken has none."""
    return set(_openers_of(row))


def _openers_of(row: Authenticator) -> Iterator[str]:
    for one in _secrets_of(row):
        with suppress(SealBroken, ValueError):
            yield ring().sealed_for_by(PURPOSE, base64.b64decode(one), context=PURPOSE)


def _secrets_of(row: Authenticator) -> list[str]:
    kept = [row.data.get(name) or [] for name in SEALED]
    return [one for values in kept for one in (values if isinstance(values, list) else [values])]
