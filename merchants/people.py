"""A person's account as an operator helps with it: let in again, signed out everywhere."""

from collections.abc import Iterator

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from merchants import audit_log, sign_in
from merchants.models import Member, User
from merchants.sessions import SessionStore


@transaction.atomic(durable=True)
def let_in_again(user: User, *, reason: str) -> bool:
    """Forget the wrong passwords of a person's name; tell whether there were any.

    :param reason: the operator's, kept in the audit log.
    """
    if not sign_in.unlock(user.email):
        return False
    audit_log.record_of_person("sign_in.unlocked", user, reason=reason)
    return True


@transaction.atomic(durable=True)
def end_sessions(user: User, *, reason: str) -> int:
    """Sign a person out everywhere; return how many sessions were ended.

    :param reason: the operator's, kept in the audit log.
    """
    keys = [row.session_key for row in _sessions(user)]
    ended, _ = Session.objects.filter(session_key__in=keys).delete()
    if ended:
        audit_log.record_of_person("session.ended", user, reason=reason)
    return ended


def count_sessions(user: User) -> int:
    """Return in how many browsers a person is signed in."""
    return sum(1 for _ in _sessions(user))


def owners_of_teams(user: User) -> list[str]:
    """Return the addresses of the owners of all teams that a person is in, without their own."""
    teams = user.memberships.values("merchant_id")
    owners = Member.objects.filter(merchant_id__in=teams, role=Member.Role.OWNER)
    addresses = owners.exclude(user=user).values_list("user__email", flat=True)
    return sorted(set(addresses))


def _sessions(user: User) -> Iterator[Session]:
    """Yield a person's sessions: what a row holds is sealed, so each is opened."""
    opened = SessionStore()
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if opened.decode(row.session_data).get(SESSION_KEY) == str(user.pk):
            yield row
