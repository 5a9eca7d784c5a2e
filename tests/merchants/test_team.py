"""A merchant's team: the last owner stays, and two changes at once see each other."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import DomainError
from merchants import invitations, operators
from merchants import team as teams
from merchants.invitations import InvitationUnusable
from merchants.models import AuditEntry, Invitation, Member, Merchant, Session, User
from merchants.team import LastOwner, NoLongerOwner, TeamRefused
from tests.stage.client import ApiClient
from tests.stage.teams import join, person, signed_in
from tests.stage.threads import team, together, wait_for_the_others

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)


@pytest.fixture
def ada(acme: ApiClient) -> Member:
    return join(person("ada@acme.example"), acme.merchant, "owner")


@pytest.fixture
def owner(acme: ApiClient) -> Member:
    return acme.merchant.members.get(user__email="owner@acme.example")


def owners(merchant: Merchant) -> int:
    return merchant.members.filter(role="owner").count()


def actions(merchant: Merchant) -> list[str]:
    rows = AuditEntry.objects.for_merchant(merchant).order_by("sequence")
    wanted = ("member.r", "invitation.")  # Not the owner's own, of the opening.
    return [row.action for row in rows if row.action.startswith(wanted)]


def tried(act: Callable[[], Any]) -> Callable[[], str]:
    """Return the act as one that tells the name of its refusal."""

    def run() -> str:
        try:
            act()
        except DomainError as refusal:
            return type(refusal).__name__
        return "done"

    return run


# --- The last owner -----------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["leave", "demote"])
def test_the_last_owner_stays(acme: ApiClient, owner: Member, change: str) -> None:
    with pytest.raises(LastOwner):
        teams.leave(owner) if change == "leave" else teams.change_role(owner, owner, "finance")

    assert owners(acme.merchant) == 1
    assert actions(acme.merchant) == []


def test_an_owner_who_cannot_sign_in_does_not_count(ada: Member, owner: Member) -> None:
    User.objects.filter(pk=ada.user_id).update(is_active=False)

    with pytest.raises(LastOwner):
        teams.leave(owner)


@pytest.mark.parametrize("role", ["support", None])
def test_an_operator_makes_an_owner_where_the_last_one_is_lost(
    acme: ApiClient, owner: Member, role: str | None
) -> None:
    invitations.invite(owner, email="eve@acme.example", role="finance")
    if role:
        join(person("eve@acme.example"), acme.merchant, role)
    User.objects.filter(pk=owner.user_id).update(is_active=False)

    made = [
        teams.appoint_owner(acme.merchant, address, reason="The owner died.")
        for address in ("Eve@acme.example", "eve@acme.example")
    ]

    member = acme.merchant.members.get(user__email="eve@acme.example")
    row = AuditEntry.objects.for_merchant(acme.merchant).latest("sequence")
    assert (made, member.role, owners(acme.merchant)) == ([True, False], "owner", 2)
    assert row.action == ("member.role_changed" if role else "member.added")
    assert (row.subject, row.reason) == (str(member.user_id), "The owner died.")
    assert member.user.has_usable_password() == bool(role)
    assert invitations.open_invitations(acme.merchant) == []


def test_an_account_that_is_switched_off_owns_nothing(acme: ApiClient, ada: Member) -> None:
    teams.change_role(ada, ada, "finance")
    User.objects.filter(pk=ada.user_id).update(is_active=False)

    for address in (ada.user.email, "no address", f"{'x' * 250}@a.example"):
        with pytest.raises(TeamRefused):
            teams.appoint_owner(acme.merchant, address, reason="x")

    assert owners(acme.merchant) == 1


@pytest.mark.parametrize(
    "changes",
    [
        (lambda a, b: teams.remove(a, b), lambda a, b: teams.remove(b, a)),
        (lambda a, b: teams.leave(a), lambda a, b: teams.leave(b)),
        (lambda a, b: teams.leave(a), lambda a, b: teams.remove(a, b)),
        (lambda a, b: teams.change_role(a, a, "support"), lambda a, b: teams.leave(b)),
        (lambda a, b: teams.change_role(a, b, "support"), lambda a, b: teams.remove(b, a)),
    ],
)
def test_two_changes_at_once_leave_an_owner(
    acme: ApiClient, ada: Member, owner: Member, changes: Any
) -> None:
    with team(2) as meet:
        ends = meet([tried(lambda change=change: change(ada, owner)) for change in changes])

    assert sorted(ends)[1] == "done", ends
    assert sorted(ends)[0] in ("LastOwner", "NoLongerOwner", "TeamRefused"), ends
    assert owners(acme.merchant) == 1
    assert len(actions(acme.merchant)) == 1


def test_a_team_that_was_not_locked_would_lose_its_last_owner(
    acme: ApiClient, ada: Member, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: without the lock, both see the other owner."""
    checked = teams.require_another_owner

    def slowly(row: Member) -> None:
        checked(row)
        wait_for_the_others()

    monkeypatch.setattr(teams, "lock", lambda _merchant: None)
    monkeypatch.setattr(teams, "require_another_owner", slowly)

    together([tried(lambda one=one: teams.leave(one)) for one in (ada, owner)])

    assert owners(acme.merchant) == 0


# --- Places -------------------------------------------------------------------------------------


def test_a_removed_persons_sessions_end_everywhere(
    acme: ApiClient, globex: ApiClient, owner: Member
) -> None:
    eve = person("eve@x.example", (acme.merchant, "finance"), (globex.merchant, "support"))
    signed_in(eve)

    teams.remove(owner, eve.memberships.get(merchant=acme.merchant))

    assert not Session.objects.filter(user=eve).exists()
    assert [one.merchant_id for one in eve.memberships.all()] == [globex.merchant.id]
    assert actions(acme.merchant) == ["member.removed"]


def test_a_role_is_changed_once(acme: ApiClient, owner: Member) -> None:
    eve = join(person("eve@x.example"), acme.merchant, "finance")

    first, again = (teams.change_role(owner, eve, "support") for _ in range(2))

    assert (first, again) == (True, False)
    row = AuditEntry.objects.for_merchant(acme.merchant).order_by("sequence").last()
    assert (row.action, row.subject) == ("member.role_changed", str(eve.user_id))
    assert (row.before, row.after) == ({"role": "finance"}, {"role": "support"})


def test_a_removed_owner_changes_nothing_any_more(
    acme: ApiClient, ada: Member, owner: Member
) -> None:
    teams.remove(owner, ada)

    with pytest.raises(NoLongerOwner):
        teams.change_role(ada, owner, "support")
    with pytest.raises(NoLongerOwner):
        invitations.invite(ada, email="x@x.example", role="owner")
    with pytest.raises(TeamRefused):
        teams.remove(owner, ada)


def test_invitations_go_with_the_owner_who_sent_them(
    acme: ApiClient, ada: Member, owner: Member
) -> None:
    theirs = invitations.invite(ada, email="x@x.example", role="owner")
    other = invitations.invite(owner, email="y@x.example", role="owner")

    teams.remove(owner, ada)

    with pytest.raises(InvitationUnusable, check=lambda one: one.why == "withdrawn"):
        invitations.accept_as_new(theirs.token, make_password("x"))
    assert invitations.found(other.token).email == "y@x.example"


def test_invitations_of_an_owner_who_is_switched_off_have_no_effect(
    ada: Member, owner: Member
) -> None:
    theirs = invitations.invite(ada, email="x@x.example", role="owner")
    other = invitations.invite(owner, email="y@x.example", role="owner")
    root = User.objects.create_superuser("root@pay.example", "a long enough password")

    operators.switch_off(root, ada.user, reason="x")

    for act in (lambda token: invitations.accept_as_new(token, make_password("x")),
                invitations.found):  # fmt: skip
        with pytest.raises(InvitationUnusable, check=lambda one: one.why == "withdrawn"):
            act(theirs.token)
    assert invitations.found(other.token).email == "y@x.example"


def test_a_sender_is_looked_at_again_behind_the_teams_lock(
    ada: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = invitations.invite(ada, email="x@x.example", role="owner")
    lock = teams.lock

    def lock_late(merchant: Merchant) -> None:
        User.objects.filter(pk=ada.user_id).update(is_active=False)
        lock(merchant)

    monkeypatch.setattr(teams, "lock", lock_late)

    with pytest.raises(InvitationUnusable, check=lambda one: one.why == "withdrawn"):
        invitations.accept_as_new(theirs.token, make_password("x"))


# --- Invitations --------------------------------------------------------------------------------


def test_the_row_has_no_token(owner: Member) -> None:
    made = invitations.invite(owner, email="x@x.example", role="support")

    row = Invitation.objects.values().get()
    assert len(made.token) == 43
    assert made.token not in str(row)
    assert made.token.encode() not in bytes(row["token_hash"])


def test_an_address_in_capitals_is_the_same_address(acme: ApiClient, owner: Member) -> None:
    first = invitations.invite(owner, email="Eve@X.example", role="support")
    second = invitations.invite(owner, email=" EVE@x.EXAMPLE ", role="finance")

    with pytest.raises(InvitationUnusable, check=lambda one: one.why == "withdrawn"):
        invitations.found(first.token)
    eve = person("eve@x.example")
    assert invitations.accept(second.token, eve).role == "finance"
    assert actions(acme.merchant) == ["invitation.sent", "invitation.sent", "invitation.accepted"]


def test_an_invitation_is_accepted_once_by_ten_at_once(acme: ApiClient, owner: Member) -> None:
    made = invitations.invite(owner, email="eve@x.example", role="owner")
    hashed = make_password("a long enough password")

    with team(10) as meet:
        ends = meet([tried(lambda: invitations.accept_as_new(made.token, hashed))] * 10)

    assert sorted(ends) == ["InvitationUnusable"] * 9 + ["done"]
    assert acme.merchant.members.filter(user__email="eve@x.example").count() == 1


def test_two_teams_open_one_account_at_once(
    acme: ApiClient, globex: ApiClient, owner: Member
) -> None:
    other = globex.merchant.members.get()
    made = [invitations.invite(one, email="eve@x.example", role="owner") for one in (owner, other)]

    with team(2) as meet:
        ends = meet([
            tried(lambda one=one: invitations.accept_as_new(one.token, "!")) for one in made
        ])  # fmt: skip

    assert sorted(ends) == ["InvitationUnusable", "done"]
    assert User.objects.filter(email="eve@x.example").count() == 1


def test_an_invitation_that_meets_its_withdrawal(acme: ApiClient, owner: Member) -> None:
    eve = person("eve@x.example")
    made = invitations.invite(owner, email=eve.email, role="owner")

    with team(2) as meet:
        ends = meet([
            tried(lambda: invitations.accept(made.token, eve)),
            tried(lambda: invitations.withdraw(owner, made.invitation)),
        ])  # fmt: skip

    row = Invitation.objects.get()
    assert (row.accepted_at is None) != (row.withdrawn_at is None)
    assert acme.merchant.members.filter(user=eve).exists() == (ends[0] == "done")
    assert len(actions(acme.merchant)) == 2


@pytest.mark.parametrize("why", ["unknown", "used", "withdrawn", "expired", "other_address"])
def test_an_invitation_that_nobody_can_accept_says_why(
    acme: ApiClient, owner: Member, why: str
) -> None:
    eve = person("eve@x.example")
    made = invitations.invite(owner, email=eve.email, role="owner")
    token, who = made.token, eve
    match why:
        case "unknown":
            token = "x"
        case "used":
            invitations.accept(token, eve)
        case "withdrawn":
            invitations.withdraw(owner, made.invitation)
        case "expired":
            Invitation.objects.update(expires_at=timezone.now())
        case "other_address":
            who = person("mallory@x.example")
    before = acme.merchant.members.count()

    with pytest.raises(InvitationUnusable) as refused:
        invitations.accept(token, who)

    assert refused.value.why == why
    assert acme.merchant.members.count() == before


def test_somebody_removed_is_invited_anew_and_their_old_link_is_used(
    acme: ApiClient, owner: Member
) -> None:
    eve = person("eve@x.example")
    old = invitations.invite(owner, email=eve.email, role="support")
    teams.remove(owner, invitations.accept(old.token, eve))

    with pytest.raises(InvitationUnusable, check=lambda one: one.why == "used"):
        invitations.accept(old.token, eve)
    new = invitations.invite(owner, email=eve.email, role="finance")

    assert invitations.accept(new.token, eve).role == "finance"


@pytest.mark.parametrize(
    ("email", "role", "param"),
    [
        ("owner@ACME.example", "support", "email"), ("", "support", "email"),
        ("x", "support", "email"), ("a@b.example\nBcc: c@d.example", "support", "email"),
        ("a\x00@b.example", "support", "email"), ("x@x.example", "admin", "role"),
        ("x@x.example", "", "role"), (f"{'a' * 250}@x.example", "support", "email"),
    ],
)  # fmt: skip
def test_a_bad_invitation_is_refused(
    acme: ApiClient, owner: Member, email: str, role: str, param: str
) -> None:
    with pytest.raises(TeamRefused) as refused:
        invitations.invite(owner, email=email, role=role)

    assert refused.value.param == param
    assert actions(acme.merchant) == []


def test_a_team_is_not_flooded(owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "INVITED_A_DAY_MAX", 2)
    for _ in range(2):
        invitations.invite(owner, email="x@x.example", role="support")
    with pytest.raises(TeamRefused):
        invitations.invite(owner, email="x@x.example", role="support")
    Invitation.objects.update(created_at=timezone.now() - timedelta(days=2))
    monkeypatch.setattr(invitations, "PLACES_MAX", 2)

    with pytest.raises(TeamRefused):
        invitations.invite(owner, email="y@x.example", role="support")


def test_the_database_takes_one_open_invitation_per_address(owner: Member) -> None:
    made = invitations.invite(owner, email="x@x.example", role="support").invitation
    made.id, made.token_hash = "inv_2", b"2"

    with pytest.raises(IntegrityError, match="one_open_invitation"), transaction.atomic():
        made.save(force_insert=True)
