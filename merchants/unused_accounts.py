"""Accounts that are unused for 90 days are locked (PCI DSS 8.2.6).

A week before, the person gets a mail. So do the owners of their teams, or of an operator the other
operators. The last owner of a merchant and the last operator stay open. A person comes back by the
mail for a new password, and signs in with the second factor that they have
(docs/reference/signing-in.md). All moments are in real time.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from merchants import audit_log, notices, sessions, team
from merchants.models import Member, Merchant, User
from merchants.notices import Letter, Reader

UNUSED = timedelta(days=90)
WARNED_BEFORE = timedelta(days=7)
CHUNK = 500

log = structlog.get_logger(__name__)


def watch(now: datetime | None = None) -> tuple[int, int]:
    """Warn people of accounts that will be locked, and lock those that got a warning a week ago.

    Safe to run twice, late, or at once. A late warning moves the lock: a week always lies between.

    :return: how many were warned, and how many were locked.
    """
    now = now or timezone.now()
    warned = sum(_warned(person, now) for person in _unused_since(now - UNUSED + WARNED_BEFORE))
    # Accounts that stay open are left out before any lock is taken.
    unused = (person for person in _unused_since(now - UNUSED) if not _is_last(person))
    return warned, sum(_locked(person, now) for person in unused)


@transaction.atomic
def come_back(user: User) -> bool:
    """Open a locked account again, for its person has answered the mail; whether it was locked."""
    was = User.objects.filter(pk=user.pk, locked_unused_at__isnull=False)
    # It counts as used from now on: their sign-in may be a day later.
    opened = {"locked_unused_at": None, "warned_unused_at": None, "last_login": timezone.now()}
    is_back = bool(was.update(**opened))
    if is_back:
        audit_log.record_of_person("person.came_back", user)
    return is_back


def is_locked(user: User) -> bool:
    """Return whether the person has to answer a mail before they sign in."""
    return user.locked_unused_at is not None


def open_people() -> QuerySet[User]:
    """Return the people who can sign in."""
    return User.objects.filter(is_active=True, locked_unused_at=None)


def has_owner_in_use(merchant: Merchant) -> bool:
    """Return whether an owner can sign in, and has been here within the last 90 days.

    That they can is not enough: the last owner is never locked, also one who died.
    """
    since = timezone.now() - UNUSED
    is_owner = Q(memberships__merchant=merchant, memberships__role=Member.Role.OWNER)
    was_here = Q(last_login__gte=since) | Q(sessions__seen_at__gte=since)
    return open_people().filter(is_owner, was_here).exists()


def _unused_since(moment: datetime) -> Iterator[User]:
    """Yield all open accounts without a sign-in or a look since a moment."""
    used = Greatest(Coalesce("last_login", "date_joined"), "date_joined", Max("sessions__seen_at"))
    rows = open_people().annotate(used_at=used).filter(used_at__lt=moment).order_by("pk")
    chunk = list(rows[:CHUNK])
    while chunk:
        yield from chunk
        chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:CHUNK])


@transaction.atomic(durable=True)
def _warned(person: User, now: datetime) -> bool:
    used_at: datetime = person.used_at  # type: ignore[attr-defined]  # By `_unused_since`.
    # A warning of an earlier absence counts no more.
    due = Q(warned_unused_at=None) | Q(warned_unused_at__lt=used_at)
    if _is_last(person) or not User.objects.filter(due, pk=person.pk).update(warned_unused_at=now):
        return False
    facts = {
        "email": person.email,
        "day": max(used_at + UNUSED, now + WARNED_BEFORE),
        "panel_url": settings.PANEL_URL,
    }
    letter = Letter(_("An account will be locked"), "account/email/unused_message.txt", facts)
    transaction.on_commit(lambda: notices.send(letter, [notices.person(person), *_others(person)]))
    return True


@transaction.atomic(durable=True)
def _locked(person: User, now: datetime) -> bool:
    # Two runs, or two operators, must not lock each other's last one.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('merchants.unused_accounts'))")
    merchants = Merchant.objects.filter(members__user=person, members__role=Member.Role.OWNER)
    for merchant in merchants.order_by("pk"):
        team.lock(merchant)
    row = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    used_at: datetime = person.used_at  # type: ignore[attr-defined]  # By `_unused_since`.
    if row.last_login != person.last_login or row.warned_unused_at is None:
        return False
    is_told = used_at <= row.warned_unused_at <= now - WARNED_BEFORE
    if not is_told or _is_last(row) or not (row.is_active and row.locked_unused_at is None):
        return False
    User.objects.filter(pk=row.pk).update(locked_unused_at=now)
    sessions.end_all_of(row)
    audit_log.record_of_person(
        "person.locked_unused", row, after={"used": used_at.date().isoformat()}
    )
    log.info("unused_account_locked", user=row.pk)
    return True


def _is_last(person: User) -> bool:
    """Return whether a merchant has no other open owner, or the desk no other open operator."""
    others = open_people().exclude(pk=person.pk)
    if person.is_staff and not others.filter(is_staff=True).exists():
        return True
    if person.is_superuser and not others.filter(is_staff=True, is_superuser=True).exists():
        return True
    owned = Member.objects.filter(user=person, role=Member.Role.OWNER).values("merchant_id")
    with_another = Member.objects.filter(role=Member.Role.OWNER, user__in=others)
    return Merchant.objects.filter(pk__in=owned).exclude(
        pk__in=with_another.values("merchant_id")
    ).exists()  # fmt: skip


def _others(person: User) -> Iterable[Reader]:
    """Return the owners of a person's teams, or of an operator the other operators."""
    if person.is_staff:
        rows = open_people().filter(is_staff=True).exclude(pk=person.pk)
    else:
        teams = Member.objects.filter(user=person).values("merchant_id")
        owners = Member.objects.filter(merchant_id__in=teams, role=Member.Role.OWNER)
        rows = open_people().filter(pk__in=owners.values("user_id")).exclude(pk=person.pk)
    return [notices.person(one) for one in rows.order_by("pk")]
