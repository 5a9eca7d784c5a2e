"""Invitations to a merchant's team: sent by an owner, bound to one address, accepted once.

The mail alone has the token, the row its keyed hash. Every change locks the team first, as
`merchants.team` does (panel contract: Mail; docs/reference/panel.md, Team).
"""

import secrets
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone

from core import clock, context, ids
from core.context import ActorKind
from core.errors import ResourceMissing
from core.keyring import ring
from core.names import email_key
from merchants import audit_log, sessions, team
from merchants.models import Invitation, Member, Merchant, OperatorInvitation, User
from merchants.models.people import Offer
from merchants.team import TeamRefused

PURPOSE = "link"
VALID_FOR = timedelta(days=7)
# Each is a mail to somebody who may not know us.
INVITED_A_DAY_MAX = 50
# Members, and invitations that are open.
PLACES_MAX = 100


class InvitationUnusable(ResourceMissing):
    """The invitation cannot be accepted; no client of the API meets this.

    :param why: `unknown`, `used`, `withdrawn`, `expired`, `other_address`, `has_account` or
        `in_team`.
    """

    message = "The invitation cannot be accepted."

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__()


class Invited(NamedTuple):
    """An invitation with its token, which is for the mail alone and kept nowhere."""

    invitation: Invitation
    token: str


@transaction.atomic
def invite(by: Member, *, email: str, role: str) -> Invited:
    """Offer a place in the team; an earlier invitation to the same address ends with it.

    :param by: the owner who invites.
    :param email: in any spelling; the invitation is bound to its key.
    :raises NoLongerOwner: `by` is an owner no more.
    :raises TeamRefused: no address, a member's, no role, or too many.
    """
    by = team.lock_as_owner(by)
    address = team.require_address(email)
    team.require_role(role)
    members = Member.objects.for_merchant(by.merchant)
    if members.filter(user__email=address).exists():
        raise TeamRefused("This person is in the team already.", param="email")
    earlier = team.open_invitations(by.merchant).filter(email=address).select_for_update().first()
    if earlier:
        Invitation.objects.filter(pk=earlier.pk).update(withdrawn_at=timezone.now())
    _require_room(by.merchant)
    made = _written(by, address, role)
    before = {"role": earlier.role} if earlier else None
    audit_log.record(
        "invitation.sent",
        merchant=by.merchant,
        subject=made.invitation.id,
        before=before,
        after={"email": address, "role": role},
    )
    return made


@transaction.atomic
def withdraw(by: Member, invitation: Invitation) -> bool:
    """End an open invitation; return whether it was open.

    :raises NoLongerOwner: `by` is an owner no more.
    """
    by = team.lock_as_owner(by)
    row = team.open_invitations(by.merchant).filter(pk=invitation.pk).select_for_update().first()
    if row:
        team.end_invitation(by.merchant, row)
    return row is not None


def open_invitations(merchant: Merchant) -> list[Invitation]:
    """Return the invitations not accepted or withdrawn, expired ones too, newest first."""
    rows = team.open_invitations(merchant).select_related("invited_by")
    return list(rows.order_by("-created_at", "-id"))


def found(token: str) -> Invitation:
    """Return the invitation that a token opens.

    :raises InvitationUnusable: there is none, or it was used, withdrawn, or is too old; or its
        sender is switched off.
    """
    rows = Invitation.objects.select_related("merchant", "invited_by")
    row = rows.filter(token_hash__in=hashes_of(token)).first()
    if row is None:
        raise InvitationUnusable("unknown")
    _require_acceptable(row)
    return row


@transaction.atomic(durable=True)
def accept(token: str, user: User, *, session_key: str | None = None) -> Member:
    """Take the place that an invitation offers, as a person who has an account.

    :param session_key: of the session that goes on; the person's others end.
    :raises InvitationUnusable: as `found`, or it is to another address.
    """
    invitation = _locked(token)
    if email_key(invitation.email) != email_key(user.email):
        raise InvitationUnusable("other_address")
    return _joined(invitation, user, session_key)


@transaction.atomic(durable=True)
def accept_as_new(token: str, password: str) -> Member:
    """Open an account for the invitation's address, and take the place that it offers.

    :param password: as `make_password` hashed it: a hash takes long, and locks are held here.
    :raises InvitationUnusable: as `found`, or the address has an account by now.
    """
    invitation = _locked(token)
    return _joined(invitation, account_of(invitation.email, password), None)


# --- Inside -----------------------------------------------------------------------------------


def _locked(token: str) -> Invitation:
    """Return an invitation with its team locked."""
    invitation = found(token)
    team.lock(invitation.merchant)
    invitation.refresh_from_db(fields=["accepted_at", "withdrawn_at", "expires_at", "invited_by"])
    _require_acceptable(invitation)
    return invitation


def _require_acceptable(row: Invitation) -> None:
    require_usable(row)
    # An owner who was switched off must not come back by an invitation of their own.
    if not row.invited_by.is_active:
        raise InvitationUnusable("withdrawn")


def _joined(invitation: Invitation, user: User, session_key: str | None) -> Member:
    merchant = invitation.merchant
    if Member.objects.for_merchant(merchant).filter(user=user).exists():
        raise InvitationUnusable("in_team")
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=timezone.now())
    member = Member.objects.create(
        merchant=merchant, user=user, role=invitation.role, created_at=clock.now()
    )
    sessions.end_all_of(user, but=session_key)
    audit_log.record(
        "invitation.accepted",
        merchant=merchant,
        subject=invitation.id,
        after={"email": user.email, "role": member.role, "invited_by": invitation.invited_by.email},
    )
    return member


def _written(by: Member, email: str, role: str) -> Invited:
    token, now = secrets.token_urlsafe(32), timezone.now()
    invitation = Invitation.objects.create(
        id=ids.new("inv"),
        merchant=by.merchant,
        email=email,
        role=role,
        token_hash=hash_of(token),
        invited_by=by.user,
        created_at=now,
        expires_at=now + VALID_FOR,
    )
    return Invited(invitation, token)


def hash_of(token: str) -> bytes:
    """Return what a new row keeps of a token."""
    return hashes_of(token)[0]


def hashes_of(token: str) -> list[bytes]:
    """Return what rows may have kept of a token, under each of the keys."""
    return ring().marked(PURPOSE, f"invitation|{token}".encode())


def require_usable(row: Offer) -> None:
    """:raises InvitationUnusable: it was used or withdrawn, or is too old."""
    if row.accepted_at:
        raise InvitationUnusable("used")
    if row.withdrawn_at:
        raise InvitationUnusable("withdrawn")
    if row.expires_at <= timezone.now():
        raise InvitationUnusable("expired")


def account_of(email: str, password: str) -> User:
    """Open the account of an invited person, in whose name the current work is done from here.

    :param password: as `make_password` hashed it.
    :raises InvitationUnusable: the address has one by now.
    """
    user = User(email=email, password=password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise InvitationUnusable("has_account") from None
    context.act_as(ActorKind.USER, str(user.pk), user.email)
    return user


def _require_room(merchant: Merchant) -> None:
    taken = Member.objects.for_merchant(merchant).count() + team.open_invitations(merchant).count()
    if taken >= PLACES_MAX:
        raise TeamRefused("A team has up to 100 people and open invitations.", param="email")
    day = timezone.now() - timedelta(days=1)
    sent = Invitation.objects.for_merchant(merchant).filter(created_at__gte=day).count()
    if sent >= INVITED_A_DAY_MAX:
        raise TeamRefused("A team sends up to 50 invitations a day.", param="email")


def end_all() -> int:
    """Let every open invitation of teams and operators expire now; return how many there were."""
    now = timezone.now()
    return sum(
        offers.objects.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=now).update(
            expires_at=now
        )
        for offers in (Invitation, OperatorInvitation)
    )
