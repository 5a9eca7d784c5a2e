"""Operators: invited, put into groups, switched off; they cannot raise their own rights.

Each act locks actor and subject together, and reads both again; the rules are in
`merchants.operator_rights` (docs/operate/desk.md).
"""

import secrets
from collections.abc import Iterable
from functools import partial

from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import mail
from merchants import audit_log, invitations, sessions, team
from merchants.invitations import InvitationUnusable
from merchants.models import Member, Merchant, OperatorInvitation, User
from merchants.operator_rights import (
    OperatorRefused,
    names_of,
    require_given,
    require_not_above,
    seen_of,
    watchers,
)

MANAGE = "merchants.manage_operators"
MANAGE_PEOPLE = "merchants.manage_people"


class InvitedBefore(OperatorRefused):
    message = "This form was sent before, and has invited them."


def invite(
    by: User, email: str, groups: Iterable[str], *, invitation_id: str, reason: str
) -> tuple[OperatorInvitation, str]:
    """Invite a person to become an operator; an earlier invitation to the address ends with it.

    :param invitation_id: the act's: sent twice, it invites once.
    :return: the invitation with its token, which is for the mail alone.
    :raises OperatorRefused: no address, no group, an operator's, or a group of rights that `by`
        does not have.
    """
    address = team.require_address(email)
    with transaction.atomic(durable=True):
        actor = _locked(by, by, MANAGE)
        if OperatorInvitation.objects.filter(id=invitation_id).exists():
            raise InvitedBefore
        names = require_given(actor, groups)
        if not names:
            raise OperatorRefused("Choose a group at least.", param="groups")
        if User.objects.filter(email=address, is_staff=True).exists():
            raise OperatorRefused("They are an operator: change their groups.", param="email")
        _end_all_to(address, reason)
        token = secrets.token_urlsafe(32)
        now = timezone.now()
        row = _written(OperatorInvitation(
            id=invitation_id, email=address, groups=names, invited_by=actor, created_at=now,
            token_hash=invitations.hash_of(token), expires_at=now + invitations.VALID_FOR,
        ))  # fmt: skip
        told = {"email": address, "groups": names}
        audit_log.record(
            "operator.invited", merchant=None, subject=row.id, after=told, reason=reason
        )
    return row, token


@transaction.atomic(durable=True)
def withdraw(by: User, invitation: OperatorInvitation, *, reason: str) -> bool:
    """End an open invitation; return whether it was open."""
    _locked(by, by, MANAGE)
    row = open_invitations().select_for_update().filter(pk=invitation.pk).first()
    if row:
        _end(row, reason)
    return row is not None


@transaction.atomic(durable=True)
def set_groups(by: User, person: User, groups: Iterable[str], *, seen: str, reason: str) -> bool:
    """Put an operator into these groups and no others; return whether they were in others.

    In none they are an operator no more. Their sessions end.

    :param seen: `seen_of` the person, as it was shown.
    :raises OperatorRefused: no operator, oneself, one who may do more, rights that `by` does not
        have, or the groups are others than those that were shown.
    """
    actor = _locked(by, person, MANAGE)
    row = _again(person)
    if not row.is_staff:
        raise OperatorRefused("They are no operator: invite them.")
    require_not_above(actor, row)
    if row.is_superuser:
        raise OperatorRefused("They may do everything, in whatever group: switch them off.")
    names, before = require_given(actor, groups), names_of(row)
    if before == names:
        return False
    if seen_of(row) != seen:
        raise OperatorRefused("Their groups are others by now: look at them, and choose again.")
    row.groups.set(Group.objects.filter(name__in=names))
    row.user_permissions.clear()
    User.objects.filter(pk=row.pk).update(is_staff=bool(names))
    _end_all_to(row.email, reason)
    sessions.end_all_of(row)
    audit_log.record_of_person(
        "operator.changed", row, before={"groups": before}, after={"groups": names}, reason=reason
    )
    return True


@transaction.atomic(durable=True)
def switch_off(by: User, person: User, *, reason: str) -> bool:
    """Let a person sign in no more, and end their sessions; return whether they could.

    :raises OperatorRefused: oneself, or an operator who may do more.
    :raises merchants.team.LastOwner: a merchant would be left without an owner who can sign in.
    """
    owned = Member.objects.filter(user=person, role=Member.Role.OWNER)
    teams = list(Merchant.objects.filter(pk__in=owned.values("merchant_id")).order_by("pk"))
    for merchant in teams:
        team.lock(merchant)
    actor = _locked(by, person, MANAGE_PEOPLE)
    row = _again(person)
    require_not_above(actor, row)
    if not row.is_active:
        return False
    for place in owned.select_related("merchant").order_by("pk"):
        if place.merchant not in teams:  # Its team is not locked: another act may end it, too.
            raise OperatorRefused("They have become an owner at this moment: look again.")
        team.require_another_owner(place)
    User.objects.filter(pk=row.pk).update(is_active=False)
    _end_all_to(row.email, reason)
    sessions.end_all_of(row)
    audit_log.record_of_person("person.switched_off", row, reason=reason)
    return True


@transaction.atomic(durable=True)
def switch_on(by: User, person: User, *, reason: str) -> bool:
    """Let a person sign in again who was switched off; return whether they were.

    :raises OperatorRefused: an operator who may do more.
    """
    actor = _locked(by, person, MANAGE_PEOPLE)
    row = _again(person)
    require_not_above(actor, row)
    if row.is_active:
        return False
    User.objects.filter(pk=row.pk).update(is_active=True)
    audit_log.record_of_person("person.switched_on", row, reason=reason)
    return True


def open_invitations() -> QuerySet[OperatorInvitation]:
    """Return the invitations not accepted or withdrawn, expired ones too."""
    return OperatorInvitation.objects.filter(accepted_at=None, withdrawn_at=None)


@transaction.atomic(durable=True)
def make_superuser(email: str, password: str | None, *, emergency: str | None = None) -> User:
    """Make an operator who may do everything; only the machine's command line does.

    :param password: None if they choose one by a mail to their address.
    :param emergency: why no operator stands for it; then all of them get a mail.
    :raises OperatorRefused: there is an account of this address.
    :raises merchants.team.TeamRefused: it is no address.
    """
    address = team.require_address(email)
    if User.objects.filter(email=address).exists():
        raise OperatorRefused("They have an account: invite them at the desk.", param="email")
    told = watchers()
    row = User.objects.create_superuser(address, password)
    audit_log.record_of_person(
        "operator.made", row, after={"email": address, "is_superuser": True}, reason=emergency
    )
    if emergency and told:
        text = f"{address} was made an operator who may do everything: {emergency}"
        subject = "An operator was made on the machine"
        transaction.on_commit(
            partial(mail.send_when_answered, EmailMessage(subject, text, None, told))
        )
    return row


# --- Accepted ---------------------------------------------------------------------------------


def found(token: str) -> OperatorInvitation:
    """Return the invitation that a token opens.

    :raises InvitationUnusable: there is none, or it was used, withdrawn, or is too old.
    """
    rows = OperatorInvitation.objects.select_related("invited_by")
    row = rows.filter(token_hash__in=invitations.hashes_of(token)).first()
    if row is None:
        raise InvitationUnusable("unknown")
    invitations.require_usable(row)
    return row


@transaction.atomic(durable=True)
def accept(token: str, user: User, *, session_key: str | None = None) -> None:
    """Become an operator, as a person who has an account.

    :param session_key: of the session that goes on; the person's others end.
    :raises InvitationUnusable: as `found`, it is to another address or to an operator, or who sent
        it may not give such rights any more.
    """
    invitation = _usable(token)
    if invitation.email != user.email:
        raise InvitationUnusable("other_address")
    if User.objects.filter(pk=user.pk, is_staff=True).exists():
        raise InvitationUnusable("in_team")
    _join(invitation, user, session_key)


@transaction.atomic(durable=True)
def accept_as_new(token: str, password: str) -> User:
    """Open an account for the invitation's address, as an operator's.

    :param password: as `make_password` hashed it.
    :raises InvitationUnusable: as `accept`, or the address has an account by now.
    """
    invitation = _usable(token)
    user = invitations.account_of(invitation.email, password)
    _join(invitation, user, None)
    return user


def _usable(token: str) -> OperatorInvitation:
    """Return an invitation, locked behind its sender, who may still give what it offers."""
    sender = found(token).invited_by
    try:
        sender = _locked(sender, sender, MANAGE)
        row = OperatorInvitation.objects.select_for_update().get(
            token_hash__in=invitations.hashes_of(token)
        )
        invitations.require_usable(row)
        require_given(sender, row.groups)
    except (PermissionDenied, OperatorRefused):
        raise InvitationUnusable("withdrawn") from None
    return row


def _join(invitation: OperatorInvitation, user: User, session_key: str | None) -> None:
    OperatorInvitation.objects.filter(pk=invitation.pk).update(accepted_at=timezone.now())
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.groups.set(Group.objects.filter(name__in=invitation.groups))
    sessions.end_all_of(user, but=session_key)
    told = {"groups": invitation.groups, "invited_by": invitation.invited_by.email}
    audit_log.record_of_person("operator.added", user, after=told)


# --- Under the locks --------------------------------------------------------------------------


def _locked(by: User, person: User, permission: str) -> User:
    """Lock who acts and whom it is about, and return the first as they are now."""
    rows = User.objects.select_for_update(no_key=True).filter(pk__in={by.pk, person.pk})
    actor = {row.pk: row for row in rows.order_by("pk")}.get(by.pk)
    if actor is None or not actor.is_staff or not actor.has_perm(permission):
        raise PermissionDenied
    return actor


def _again(person: User) -> User:
    return User.objects.get(pk=person.pk)


def _written(row: OperatorInvitation) -> OperatorInvitation:
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        text = "Somebody else has invited them at this moment: look at the list."
        raise OperatorRefused(text, param="email") from None
    return row


def _end_all_to(address: str, reason: str) -> None:
    """End the open invitations to an address: old ones must not work."""
    for row in open_invitations().filter(email=address).select_for_update():
        _end(row, reason)


def _end(row: OperatorInvitation, reason: str) -> None:
    OperatorInvitation.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    before = {"email": row.email, "groups": row.groups}
    audit_log.record(
        "operator.withdrawn", merchant=None, subject=row.id, before=before, reason=reason
    )
