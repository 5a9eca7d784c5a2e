"""A merchant's team: roles changed, people removed; the last owner stays.

Every change locks the merchant first, then reads the team again: of two owners who remove each
other at the same moment one stays. Changes of a place end the person's sessions, so an open tab is
refused at its next click (panel contract: Sessions; docs/reference/panel.md, Team).
"""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from core import clock, context, mail
from core.context import ActorKind
from core.errors import ParameterInvalid
from core.names import email_key
from core.querysets import MerchantRows
from merchants import audit_log, sessions
from merchants.models import Invitation, Member, Merchant, User


class TeamRefused(ParameterInvalid):
    """The team is not changed; the text says why. No client of the API meets it."""


class NoLongerOwner(TeamRefused):
    message = "You are no longer an owner of this team."


class LastOwner(TeamRefused):
    message = "A team keeps at least one owner. Make somebody else an owner first."


@transaction.atomic
def change_role(by: Member, member: Member, role: str, *, session_key: str | None = None) -> bool:
    """Give a member another role; return whether it is another one. Their sessions end.

    :param session_key: of the session of `by`, which goes on where it is their own role.
    :raises NoLongerOwner: `by` is an owner no more.
    :raises LastOwner: there is no other owner.
    :raises TeamRefused: no role, or the person is not in the team any more.
    """
    by = lock_as_owner(by)
    require_role(role)
    row = _again(member)
    if row.role == role:
        return False
    require_another_owner(row)
    before = row.role
    Member.objects.filter(pk=row.pk).update(role=role)
    sessions.end_all_of(row.user, but=session_key if row.user_id == by.user_id else None)
    if before == Member.Role.OWNER:
        _end_sent_by(row)
    audit_log.record(
        "member.role_changed",
        merchant=by.merchant,
        subject=str(row.user_id),
        before={"role": before},
        after={"role": role},
    )
    return True


@transaction.atomic
def remove(by: Member, member: Member) -> None:
    """Take a person out of the team, with the invitations that they sent. Their sessions end.

    :raises NoLongerOwner: `by` is an owner no more.
    :raises LastOwner: there is no other owner.
    :raises TeamRefused: the person is not in the team any more.
    """
    lock_as_owner(by)
    _take_out(_again(member), session_key=None)


@transaction.atomic
def leave(member: Member, *, session_key: str | None = None) -> None:
    """Leave a team, in any role.

    :param session_key: of the session that goes on; the person's others end.
    :raises LastOwner: there is no other owner.
    :raises TeamRefused: the person is not in the team any more.
    """
    lock(member.merchant)
    _take_out(_again(member), session_key=session_key)


def _take_out(row: Member, *, session_key: str | None) -> None:
    require_another_owner(row)
    Member.objects.filter(pk=row.pk).delete()
    sessions.end_all_of(row.user, but=session_key)
    _end_sent_by(row)
    audit_log.record(
        "member.removed",
        merchant=row.merchant,
        subject=str(row.user_id),
        before={"email": row.user.email, "role": row.role},
    )


@transaction.atomic
def appoint_owner(merchant: Merchant, email: str, *, reason: str) -> bool:
    """Make a person an owner, for a team whose last owner is lost; return whether they were none.

    A person without an account gets one, and chooses its password by a mail to the address. The
    person's sessions end, and so does an invitation that was open to them.

    :param reason: the operator's, kept in the audit log.
    :raises TeamRefused: no address, the operator's own, or of an account that is switched off.
    """
    address = require_address(email)
    lock(merchant)
    user = User.objects.filter(email=address).first() or User.objects.create_user(address)
    _require_another_person(user)
    if not user.is_active:
        raise TeamRefused("This person's account is switched off.", param="email")
    row = Member.objects.for_merchant(merchant).filter(user=user).first()
    if row and row.role == Member.Role.OWNER:
        return False
    for invitation in open_invitations(merchant).filter(email=address):
        end_invitation(merchant, invitation)
    defaults = {"role": Member.Role.OWNER}
    Member.objects.update_or_create(
        merchant=merchant, user=user, defaults=defaults,
        create_defaults={**defaults, "created_at": clock.now()},
    )  # fmt: skip
    sessions.end_all_of(user)
    audit_log.record(
        "member.role_changed" if row else "member.added",
        merchant=merchant,
        subject=str(user.pk),
        before={"role": row.role} if row else None,
        after=defaults,
        reason=reason,
    )
    return True


# --- Under the lock ---------------------------------------------------------------------------


def lock(merchant: Merchant) -> None:
    """Lock a merchant's team until the transaction ends."""
    # `no_key`: payments that refer to the merchant need not wait.
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)


def lock_as_owner(by: Member) -> Member:
    """Lock the team, and return its owner as the team is now.

    :raises NoLongerOwner: they are none.
    """
    lock(by.merchant)
    owners = Member.objects.for_merchant(by.merchant).filter(role=Member.Role.OWNER)
    now = owners.select_related("merchant", "user").filter(pk=by.pk).first()
    if now is None:
        raise NoLongerOwner
    return now


def _again(member: Member) -> Member:
    rows = Member.objects.for_merchant(member.merchant).select_related("merchant", "user")
    row = rows.filter(pk=member.pk).first()
    if row is None:
        raise TeamRefused("This person is not in the team any more.")
    return row


def _require_another_person(user: User) -> None:
    actor = context.actor()
    if actor.kind is ActorKind.OPERATOR and actor.id == str(user.pk):
        raise TeamRefused("Nobody makes themselves an owner.", param="email")


def require_another_owner(row: Member) -> None:
    """:raises LastOwner: the member is an owner, and no other owner can sign in."""
    if row.role != Member.Role.OWNER:
        return
    owners = Member.objects.for_merchant(row.merchant).filter(role=Member.Role.OWNER)
    able = owners.filter(user__is_active=True, user__locked_unused_at=None)
    if not able.exclude(pk=row.pk).exists():
        raise LastOwner


def require_role(role: str) -> None:
    """:raises TeamRefused: there is no such role."""
    if role not in Member.Role.values:
        raise TeamRefused("There is no such role.", param="role")


def require_address(email: str) -> str:
    """Return an e-mail address as people sign in with it.

    :raises TeamRefused: it is none.
    """
    address = email_key(email)
    try:
        mail.require_address(address)
    except ValidationError:
        raise TeamRefused("This is not an e-mail address.", param="email") from None
    return address


def open_invitations(merchant: Merchant) -> MerchantRows:
    """Return the invitations not accepted or withdrawn; they may have expired."""
    return Invitation.objects.for_merchant(merchant).filter(accepted_at=None, withdrawn_at=None)


def end_invitation(merchant: Merchant, row: Invitation) -> None:
    """Withdraw an invitation; the team is locked."""
    Invitation.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    before = {"email": row.email, "role": row.role}
    audit_log.record("invitation.withdrawn", merchant=merchant, subject=row.id, before=before)


def _end_sent_by(member: Member) -> None:
    # An owner who was taken out must not come back by an invitation of their own.
    for row in open_invitations(member.merchant).filter(invited_by=member.user).order_by("id"):
        end_invitation(member.merchant, row)
