"""Signing in with a password: how often it may be tried, for a name and from an address.

A try is counted before its password is looked at, so that tries at the same moment cannot pass
the limit together. Unknown names are counted, locked and answered as users' names are, and take
as long: nobody learns from here who has an account (docs/signing-in.md).
"""

from datetime import datetime
from typing import Any

import structlog
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.http import client_address
from merchants import limits, passwords
from merchants.models import User, WrongPasswords
from merchants.models.people import WRONG_IN_A_ROW_MAX

log = structlog.get_logger(__name__)

# PostgreSQL's clock: one for all processes, and real time. A row whose lock or day is over begins
# anew. Tries beyond the last that counts are written down as one more: each writes its row, so
# that none is answered sooner than another.
COUNT = """
INSERT INTO merchants_wrongpasswords AS known (name_hash, in_a_row, last_at)
VALUES (%(name)s, 1, now())
ON CONFLICT (name_hash) DO UPDATE SET (in_a_row, locked_until, last_at) = (
    SELECT
        CASE WHEN is_over THEN 1 ELSE least(known.in_a_row + 1, %(most)s + 1) END,
        CASE
            WHEN is_over THEN NULL
            WHEN known.in_a_row + 1 = %(most)s THEN now() + interval '30 minutes'
            ELSE known.locked_until
        END,
        now()
    FROM (VALUES (
        coalesce(known.locked_until <= now(), known.last_at <= now() - interval '1 day')
    )) AS state (is_over)
)
RETURNING in_a_row
"""
# Rows of a day ago: the next wrong password would begin them anew. A row costs its maker a hash,
# one at a time, so that an hour leaves some ten thousands.
FORGET = """
DELETE FROM merchants_wrongpasswords WHERE last_at <= now() - interval '1 day'
"""


class PasswordBackend(ModelBackend):
    """Django's, within the limits of this module."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **names: Any,
    ) -> User | None:
        """Return the user whose name and password these are.

        :raises limits.RateLimited: too many tries from the request's address.
        :raises passwords.PasswordsBusy: too many passwords are being looked at in this moment.
        """
        name = names.get(User.USERNAME_FIELD) if username is None else username
        if name is None or password is None:
            return None
        if request is not None:
            count_address(request)
        user = User.objects.filter(email=_normal(name)).first()
        return user if _is_right(password, name=name, user=user) else None

    # ModelBackend's own looks the password up by another way. The names of its arguments are
    # BaseBackend's, which ModelBackend narrows.
    aauthenticate = BaseBackend.aauthenticate  # type: ignore[assignment]


def count_address(request: HttpRequest) -> None:
    """Count a try of any password from the request's address.

    :raises limits.RateLimited: `SIGN_INS_PER_MINUTE` were counted within the last minute.
    """
    try:
        limits.count_sign_in(client_address(request))
    except limits.RateLimited:
        log.warning("sign_in_refused", reason="address_limit", ip=client_address(request))
        raise


def is_proved_by(user: User, password: str) -> bool:
    """Tell whether a signed-in user has typed their own password; wrong ones count as in a sign-in.

    :raises passwords.PasswordsBusy: too many passwords are being looked at in this moment.
    """
    return _is_right(password, name=user.email, user=user)


def unlock(email: str) -> bool:
    """Forget the wrong passwords of a name; tell whether there were any."""
    was_counted = _forget(email)
    log.warning("sign_in_unlocked", name_hash=_hash_of(email).hex()[:16])
    return was_counted


def locked_until(email: str) -> datetime | None:
    """Return when a locked name may sign in again (real time); None if it is not locked."""
    rows = WrongPasswords.objects.filter(name_hash=_hash_of(email), locked_until__gt=timezone.now())
    return rows.values_list("locked_until", flat=True).first()


def forget_old() -> int:
    """Delete the counts of names that have not been tried for a day and return how many."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
        return cursor.rowcount


def _is_right(password: str, *, name: str, user: User | None) -> bool:
    try:
        # Before it is counted: a try that is turned away must not bring the lock nearer.
        with passwords.turns.taken():
            in_a_row = _count(name)
            right = _compare(password, user if in_a_row <= WRONG_IN_A_ROW_MAX else None)
    except passwords.PasswordsBusy:
        log.warning("sign_in_refused", reason="busy", **_shown(name, user))
        raise
    if right:
        _forget(name)
        log.info("password_accepted", **_shown(name, user))
        return True
    log.warning("sign_in_refused", reason=_reason(in_a_row), **_shown(name, user))
    return False


# Committed at once: the try stays counted if something fails afterwards.
@transaction.atomic(durable=True)
def _count(name: str) -> int:
    """Count a try for a name; return the number of tries in a row, the lock's first included."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"name": _hash_of(name), "most": WRONG_IN_A_ROW_MAX})
        [in_a_row] = cursor.fetchone()
        return in_a_row


def _forget(name: str) -> bool:
    deleted, _ = WrongPasswords.objects.filter(name_hash=_hash_of(name)).delete()
    return bool(deleted)


def _compare(password: str, user: User | None) -> bool:
    if user is None:
        make_password(password)  # Takes as long as the comparison.
        return False
    return user.check_password(password) and user.is_active


def _reason(in_a_row: int) -> str:
    if in_a_row > WRONG_IN_A_ROW_MAX:
        return "locked"
    return "wrong_and_locked_now" if in_a_row == WRONG_IN_A_ROW_MAX else "wrong"


def _normal(name: str) -> str:
    return User.objects.normalize_email(name)


def _hash_of(name: str) -> bytes:
    # A name may be a password or a card number typed into the wrong field: it is kept nowhere.
    return salted_hmac("merchants.sign_in", _normal(name), algorithm="sha256").digest()


def _shown(name: str, user: User | None) -> dict[str, Any]:
    return {"name_hash": _hash_of(name).hex()[:16], "user": user.pk if user else None}
