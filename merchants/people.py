"""A person's account as an operator helps with it: let in again, signed out everywhere."""

from django.db import transaction

from merchants import (
    audit_log,
    operator_rights,
    password_rules,
    second_factors,
    sessions,
    sign_in,
)
from merchants.models import Member, User


def let_in_again(user: User, *, reason: str) -> bool:
    """Forget the wrong passwords and codes of a person; return whether there were any.

    :param reason: the operator's, kept in the audit log.
    """
    return sign_in.unlock(user.email, reason=reason)


@transaction.atomic(durable=True)
def end_sessions(user: User, *, reason: str) -> int:
    """Sign a person out everywhere; return how many sessions were ended.

    :param reason: the operator's, kept in the audit log.
    """
    ended = sessions.end_all_of(user)
    if ended:
        audit_log.record_of_person("session.ended", user, reason=reason)
    return ended


@transaction.atomic(durable=True)
def take_off_second_factors(by: User, user: User, *, reason: str) -> bool:
    """Remove the second factors that a person lost; return whether there were any.

    :param reason: the operator's, kept in the audit log.
    :raises merchants.operator_rights.OperatorRefused: their own, or of an operator who may do more.
    """
    # Both as they are now: rights may have changed since the page was asked for.
    people = User.objects.select_for_update(no_key=True).filter(pk__in={by.pk, user.pk})
    now = {row.pk: row for row in people.order_by("pk")}
    operator_rights.require_not_above(now[by.pk], now[user.pk])
    return second_factors.take_off(user, reason=reason)


@transaction.atomic(durable=True)
def change_password(user: User, password: str, *, reason: str | None) -> None:
    """Give a person another password on the machine, and sign them out everywhere.

    They choose their own at the next sign-in.
    """
    password_rules.replace(user, password)
    User.objects.filter(pk=user.pk).update(is_password_printed=True)
    sessions.end_all_of(user)
    audit_log.record_of_person("password.changed", user, reason=reason)


def count_sessions(user: User) -> int:
    """Return in how many browsers a person is signed in."""
    return len(sessions.of(user, None))


def owners_of_teams(user: User) -> list[str]:
    """Return the addresses of the owners of all teams that a person is in, without their own."""
    teams = user.memberships.values("merchant_id")
    owners = Member.objects.filter(merchant_id__in=teams, role=Member.Role.OWNER)
    addresses = owners.exclude(user=user).values_list("user__email", flat=True)
    return sorted(set(addresses))
