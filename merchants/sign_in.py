"""Wrong passwords and codes: how many in a row, for a user and from an address.

A try is counted before what was typed is looked at, so that tries at the same moment cannot pass
the limit together, and is taken back if it was right. Only a sign-in that is complete forgets the
others: a password alone would let the codes of a second factor be guessed without end. A name that
is unknown, locked or given a wrong password is answered alike and takes as long: the answer
does not show who has an account (docs/reference/signing-in.md).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.hashers import make_password
from django.core.mail import EmailMessage
from django.db import connection, transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from core import limits, mail
from core.http import client_address
from core.names import email_key
from merchants import audit_log, audit_tallies, passwords
from merchants.models import User
from merchants.models.people import WRONG_IN_A_ROW_MAX

log = structlog.get_logger(__name__)

# PostgreSQL's clock: one for all processes, and real time. A row whose lock is over begins anew.
# Tries beyond the last that counts are written down as one more: each writes its row, so that none
# is answered sooner than another.
COUNT = """
UPDATE merchants_user AS known SET (wrong_in_a_row, locked_until) = (
    SELECT
        CASE WHEN is_over THEN 1 ELSE least(known.wrong_in_a_row + 1, %(most)s + 1) END,
        CASE
            WHEN is_over THEN NULL
            WHEN known.wrong_in_a_row + 1 = %(most)s THEN now() + interval '30 minutes'
            ELSE known.locked_until
        END
    FROM (VALUES (coalesce(known.locked_until <= now(), false))) AS state (is_over)
)
WHERE email = %(email)s
RETURNING wrong_in_a_row
"""
# Tries that were refused above the limit were not looked at, so they do not count here.
TAKE_BACK = """
UPDATE merchants_user
SET wrong_in_a_row = greatest(least(wrong_in_a_row, %(most)s) - 1, 0), locked_until = NULL
WHERE id = %(user)s
"""
FORGET = """
UPDATE merchants_user SET wrong_in_a_row = 0, locked_until = NULL
WHERE id = %(user)s AND wrong_in_a_row > 0
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
        user = User.objects.filter(email=email_key(name)).first()
        return user if _is_right(password, name=name, user=user) else None

    # ModelBackend's own looks the password up by another way. The names of its arguments are
    # BaseBackend's, which ModelBackend narrows.
    aauthenticate = BaseBackend.aauthenticate  # type: ignore[assignment]


def count_address(request: HttpRequest) -> None:
    """Count a try of any password or code from the request's address.

    :raises limits.RateLimited: `SIGN_INS_PER_MINUTE` were counted within the last minute.
    """
    try:
        limits.count_sign_in(client_address(request))
    except limits.RateLimited:
        log.warning("sign_in_refused", reason="address_limit", ip=client_address(request))
        raise


def is_proved_by(user: User, password: str) -> bool:
    """Return whether a signed-in user typed their password; wrong ones count as in a sign-in.

    :raises passwords.PasswordsBusy: too many passwords are being looked at in this moment.
    """
    return _is_right(password, name=user.email, user=user)


def is_code_right(user: User, compare: Callable[[], bool]) -> bool:
    """Return whether a code of the user's second factor is right; wrong ones count like passwords.

    :param compare: looks at the code; not called while the user is locked.
    """
    in_a_row = count(user.email)
    if in_a_row <= WRONG_IN_A_ROW_MAX and compare():
        take_back(user)
        return True
    _note_refusal(user.email, user, in_a_row, action="mfa.refused")
    return False


@transaction.atomic(durable=True)
def succeeded(user: User, *, is_by_passkey: bool) -> None:
    """Write down that a person has signed in, and forget what was wrong before.

    A passkey proves no password, so it leaves their count and their lock.
    """
    if not is_by_passkey:
        forget(user)
    audit_log.record_of_person("sign_in.succeeded", user)


@transaction.atomic
def unlock(email: str, *, reason: str | None = None) -> bool:
    """Forget the wrong passwords and codes of a user; return whether there were any."""
    user = User.objects.filter(email=email_key(email)).first()
    was_counted = user is not None and forget(user)
    if user and was_counted:
        audit_log.record_of_person("sign_in.unlocked", user, reason=reason)
    log.warning("sign_in_unlocked", **_shown(email, user))
    return was_counted


def locked_until(user: User) -> datetime | None:
    """Return when a locked person may sign in again (real time); None if they are not locked."""
    until = user.locked_until
    return until if until and until > timezone.now() else None


def _is_right(password: str, *, name: str, user: User | None) -> bool:
    try:
        # Before it is counted: a try that is turned away must not bring the lock nearer.
        with passwords.turns.taken():
            in_a_row = count(name)
            right = _compare(password, user if in_a_row <= WRONG_IN_A_ROW_MAX else None)
    except passwords.PasswordsBusy:
        log.warning("sign_in_refused", reason="busy", **_shown(name, user))
        raise
    if right and user:
        take_back(user)
        log.info("password_accepted", **_shown(name, user))
        return True
    _note_refusal(name, user, in_a_row, action="sign_in.refused")
    return False


def _compare(password: str, user: User | None) -> bool:
    if user is None:
        make_password(password)  # Takes as long as the comparison.
        return False
    return user.check_password(password) and user.is_active


# --- The count --------------------------------------------------------------------------------


# Committed at once: the try stays counted if something fails afterwards.
@transaction.atomic(durable=True)
def count(name: str) -> int:
    """Count a try for a name; return the number in a row, the lock's first included; 0: no user."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"email": email_key(name), "most": WRONG_IN_A_ROW_MAX})
        row = cursor.fetchone()
        return row[0] if row else 0


def take_back(user: User) -> None:
    """Let the try that was counted last be none: it was right."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE_BACK, {"user": user.pk, "most": WRONG_IN_A_ROW_MAX})


def forget(user: User) -> bool:
    """Let nothing be counted, and no lock be; return whether there was anything."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, {"user": user.pk})
        return bool(cursor.rowcount)


def _note_refusal(name: str, user: User | None, in_a_row: int, *, action: str) -> None:
    audit_tallies.note_of_person(action, user)
    if user and in_a_row == WRONG_IN_A_ROW_MAX:
        _note_lock(user)
    log.warning("sign_in_refused", reason=_reason(in_a_row), **_shown(name, user))


@transaction.atomic(durable=True)
def _note_lock(user: User) -> None:
    audit_log.record_of_person("sign_in.locked", user)
    mail.send_when_answered(_lock_mail(user))


def _reason(in_a_row: int) -> str:
    if in_a_row > WRONG_IN_A_ROW_MAX:
        return "locked"
    return "wrong_and_locked_now" if in_a_row == WRONG_IN_A_ROW_MAX else "wrong"


def _lock_mail(user: User) -> EmailMessage:
    shown = {"panel_url": settings.PANEL_URL, "user": user}
    text = render_to_string("account/email/locked_message.txt", shown)
    return EmailMessage(_("Your sign-in is locked for 30 minutes"), text, None, [user.email])


def _hash_of(name: str) -> bytes:
    # A name may be a password or a card number typed into the wrong field: it is kept nowhere.
    return salted_hmac("merchants.sign_in", email_key(name), algorithm="sha256").digest()


def _shown(name: str, user: User | None) -> dict[str, Any]:
    return {"name_hash": _hash_of(name).hex()[:16], "user": user.pk if user else None}
