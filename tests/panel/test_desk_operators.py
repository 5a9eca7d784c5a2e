"""Operators at the desk: invited, put into groups, switched off; nobody raises their own rights."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.test import Client
from django.utils import timezone

from merchants import keys, operator_rights, operators
from merchants.invitations import InvitationUnusable
from merchants.models import AuditEntry, Member, OperatorInvitation, User
from tests.stage.client import ApiClient
from tests.stage.desk import PASSWORD, Desk
from tests.stage.teams import let_in, person, prove
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHY = {"why": "They begin on Monday."}
NEW = "eve@pay.example"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def clerk(desk: Desk) -> Desk:
    """An operator of two groups, who may do less than the first one."""
    at = Desk("clerk@pay.example", "merchants.view_user")
    at.person.user_permissions.clear()
    at.person.groups.set(Group.objects.filter(name__in=["operators", "people"]))
    return at


def invite(at: Desk, *groups: str, email: str = NEW) -> Any:
    return at.send("desk_operator_invite", form={"email": email, "groups": groups, **WHY})


def link() -> str:
    """Return the path of the link in the last mail."""
    whole = next(word for word in mail.outbox[-1].body.split() if "/invitation/" in word)
    return "/" + whole.split("/", 3)[3]


def groups_of(email: str) -> list[str]:
    return operator_rights.names_of(User.objects.get(email=email))


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("created_at", "id").values_list("action", flat=True))


# --- Invited ----------------------------------------------------------------------------------


def test_an_operator_is_invited_chooses_a_password_and_gets_in(desk: Desk) -> None:
    answer = invite(desk, "risk", "cases", email="Eve@pay.example")
    assert answer.status_code == 303, answer.content
    assert [letter.to for letter in mail.outbox] == [[NEW]]
    assert NEW in desk.get("desk_operators").content.decode()
    browser = Client(headers={"Accept": "text/html"})

    page = browser.get(link(), follow=True).content.decode()
    joined = browser.post("/account/invitation", {"password": PASSWORD})
    browser.post("/account/login", {"login": NEW, "password": PASSWORD})

    assert "cases, risk" in page
    assert joined["Location"] == "/account/login?next=/admin/"
    assert browser.get("/admin/desk/cases/").status_code == 200
    assert browser.get("/admin/desk/operators/invite/").status_code == 403
    assert groups_of(NEW) == ["cases", "risk"]
    [row] = AuditEntry.objects.filter(action="operator.added")
    assert (row.actor, row.actor_name, row.chain) == ("user", NEW, f"user:{row.subject}")
    assert row.after == {"groups": ["cases", "risk"], "invited_by": desk.person.email}
    # Those who may do everything hear of it, too.
    assert [letter.to for letter in mail.outbox[1:]] == [[NEW], [desk.person.email]]


def test_staff_of_a_merchant_prove_who_they_are_before_they_join(
    desk: Desk, acme: ApiClient
) -> None:
    ada = person("ada@acme.example", (acme.merchant, "owner"))
    invite(desk, "auditors", email=ada.email)
    browser = let_in(Client(headers={"Accept": "text/html"}), ada)
    prove(browser, ada, at=0)
    browser.get(link())

    asked = browser.post("/account/invitation")
    assert not User.objects.get(pk=ada.pk).is_staff
    prove(browser, ada, at=time.time())
    joined = browser.post("/account/invitation")

    assert asked["Location"] == "/account/reauthenticate?next=%2Faccount%2Finvitation"
    assert joined["Location"] == "/admin/"
    assert browser.get("/admin/desk/audit/").status_code == 200
    assert groups_of(ada.email) == ["auditors"]


def test_a_form_that_is_sent_twice_invites_once(desk: Desk) -> None:
    typed = {"email": NEW, "groups": ["risk"], **WHY}
    form = desk.get("desk_operator_invite").context["form"]
    typed["act"] = form["act"].value()

    twice = [desk.post("desk_operator_invite", form=typed).status_code for _ in range(2)]

    assert twice == [303, 303]
    assert (OperatorInvitation.objects.count(), len(mail.outbox)) == (1, 1)


def test_a_new_invitation_ends_the_one_before(desk: Desk) -> None:
    invite(desk, "risk")
    old = link()
    invite(desk, "cases")

    assert Client().get(old).status_code == 410
    assert Client().get(link()).status_code == 302
    assert actions()[-2:] == ["operator.withdrawn", "operator.invited"]


@pytest.mark.parametrize(
    ("email", "groups"), [("no address", ["risk"]), (NEW, []), (NEW, ["gods"]), (NEW, ["risk", ""])]
)
def test_a_wrong_invitation_is_refused_at_its_form(
    desk: Desk, email: str, groups: list[str]
) -> None:
    assert invite(desk, *groups, email=email).status_code == 400
    assert (OperatorInvitation.objects.count(), mail.outbox) == (0, [])


def test_an_operator_is_not_invited_again(desk: Desk, clerk: Desk) -> None:
    assert invite(desk, "money", email=clerk.person.email).status_code == 400
    assert invite(clerk, "people", email=clerk.person.email).status_code == 400
    assert not OperatorInvitation.objects.exists()


def test_a_withdrawn_invitation_leads_to_nothing(desk: Desk) -> None:
    invite(desk, "risk")
    row = OperatorInvitation.objects.get()

    for _ in range(2):
        assert desk.send("desk_operator_withdraw", row.pk, form=WHY).status_code == 303

    assert [letter.to for letter in mail.outbox] == [[NEW], [NEW]]
    assert "withdrawn" in mail.outbox.pop().body
    assert Client().get(link()).status_code == 410
    assert actions().count("operator.withdrawn") == 1


def test_an_invitation_ends_after_a_week(desk: Desk) -> None:
    invite(desk, "risk")
    OperatorInvitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert Client().get(link()).status_code == 410


def test_an_invitation_is_worth_nothing_once_its_sender_may_not_give_it(
    desk: Desk, clerk: Desk
) -> None:
    invite(clerk, "people")
    first = link()
    invite(clerk, "operators", email="bob@pay.example")
    second = link()
    for path, group in ((first, "operators"), (second, "people")):
        clerk.person.groups.set(Group.objects.filter(name=group))
        browser = Client(headers={"Accept": "text/html"})
        browser.get(path)

        assert browser.post("/account/invitation", {"password": PASSWORD}).status_code == 410
    assert not User.objects.filter(email__in=[NEW, "bob@pay.example"]).exists()


def test_nobody_gets_rights_by_an_invitation_from_before(desk: Desk, clerk: Desk) -> None:
    """An operator who is invited all the same, by two acts that meet: it is worth nothing."""
    to = clerk.person.email

    def open_one(number: int) -> str:
        User.objects.filter(email=to).update(is_staff=False)
        terms = {"invitation_id": f"opi_{number}", "reason": "x"}
        _row, token = operators.invite(desk.person, to, ["money"], **terms)
        User.objects.filter(email=to).update(is_staff=True)
        return token

    with pytest.raises(InvitationUnusable) as refused:
        operators.accept(open_one(1), clerk.person)
    desk.send("desk_person_groups", clerk.person.pk, form={"groups": ["risk"], **WHY})
    assert not operators.open_invitations().exists()
    open_one(2)
    desk.send("desk_person_switch_off", clerk.person.pk, form=WHY)

    assert refused.value.why == "in_team"
    assert not operators.open_invitations().exists()
    assert groups_of(to) == ["risk"]


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_of_many_who_invite_the_same_person_at_once_one_invitation_is_open() -> None:
    roots = [User.objects.create_superuser(f"{n}@pay.example", PASSWORD) for n in range(6)]

    def invited(by: User) -> str:
        try:
            operators.invite(by, NEW, ["risk"], invitation_id=f"opi_{by.pk}", reason="x")
        except operator_rights.OperatorRefused:
            return "refused"
        return "invited"

    told = together([lambda by=by: invited(by) for by in roots])

    assert "invited" in told
    assert operators.open_invitations().count() == 1
    assert actions().count("operator.invited") == told.count("invited")


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_an_invitation_that_is_sent_anew_while_it_is_accepted_is_one_or_the_other() -> None:
    first, second = [User.objects.create_superuser(f"{n}@pay.example", PASSWORD) for n in (1, 2)]
    _row, token = operators.invite(first, NEW, ["risk"], invitation_id="opi_1", reason="x")

    def anew() -> str:
        try:
            operators.invite(second, NEW, ["cases"], invitation_id="opi_2", reason="x")
        except operator_rights.OperatorRefused:
            return "refused"
        return "sent"

    def accepted() -> str:
        try:
            operators.accept_as_new(token, "!")
        except InvitationUnusable:
            return "refused"
        return "accepted"

    told = together([anew, accepted])

    assert told != ["refused", "refused"]
    assert User.objects.filter(email=NEW).count() == told.count("accepted")


# --- Groups -----------------------------------------------------------------------------------


def test_groups_are_chosen_and_told(desk: Desk, clerk: Desk) -> None:
    answer = desk.send("desk_person_groups", clerk.person.pk, form={"groups": ["risk"], **WHY})

    assert answer.status_code == 303, answer.content
    assert groups_of(clerk.person.email) == ["risk"]
    assert clerk.get("desk_people").status_code == 302  # Signed out.
    [row] = AuditEntry.objects.filter(action="operator.changed")
    assert (row.before, row.after) == ({"groups": ["operators", "people"]}, {"groups": ["risk"]})
    assert (row.chain, row.reason) == (f"user:{clerk.person.pk}", WHY["why"])
    assert [one.to for one in mail.outbox] == [[clerk.person.email], [desk.person.email]]


def test_in_no_group_a_person_is_no_operator(desk: Desk, clerk: Desk) -> None:
    desk.send("desk_person_groups", clerk.person.pk, form={"groups": [], **WHY})

    person = User.objects.get(pk=clerk.person.pk)
    assert (person.is_staff, person.is_active) == (False, True)
    again = desk.send("desk_person_groups", person.pk, form={"groups": ["risk"], **WHY})
    assert again.status_code == 400


def test_groups_that_somebody_else_changed_are_looked_at_again(desk: Desk, clerk: Desk) -> None:
    form = {"groups": ["risk"], "seen": "auditors", **WHY}

    answer = desk.post("desk_person_groups", clerk.person.pk, form=form)

    assert answer.status_code == 400
    assert groups_of(clerk.person.email) == ["operators", "people"]


def test_nobody_gives_a_right_that_they_do_not_have(clerk: Desk) -> None:
    offered = clerk.get("desk_operator_invite").context["form"].fields["groups"].choices

    assert [name for name, _ in offered] == ["auditors", "operators", "people"]
    assert invite(clerk, "money").status_code == 400
    with pytest.raises(operator_rights.OperatorRefused):
        operators.invite(clerk.person, NEW, ["money"], invitation_id="opi_1", reason="x")


def test_nobody_changes_their_own_rights(desk: Desk, clerk: Desk) -> None:
    for at in (desk, clerk):
        for name in ("desk_person_groups", "desk_person_switch_off", "desk_person_take_off"):
            form = {"groups": ["operators", "people", "money"], **WHY}
            assert at.post(name, at.person.pk, form=form).status_code == 400, name

    assert groups_of(clerk.person.email) == ["operators", "people"]
    assert actions() == []


def test_nobody_touches_an_operator_who_may_do_more(desk: Desk, clerk: Desk) -> None:
    richer = Desk("richer@pay.example", "merchants.view_user")
    richer.person.groups.set(Group.objects.filter(name="money"))
    User.objects.filter(email="richer@pay.example").update(is_active=False)
    for target in (desk.person, richer.person):
        for name in (
            "desk_person_groups", "desk_person_switch_off", "desk_person_switch_on",
            "desk_person_take_off",
        ):  # fmt: skip
            answer = clerk.post(name, target.pk, form={"groups": ["people"], **WHY})
            assert answer.status_code == 400, name

    assert actions() == []


def test_nobody_makes_themselves_an_owner(desk: Desk, acme: ApiClient) -> None:
    form = {"email": desk.person.email.upper(), **WHY}

    assert desk.send("desk_merchant_owner", acme.merchant.id, form=form).status_code == 400
    assert not Member.objects.filter(user=desk.person).exists()


def test_no_act_makes_somebody_who_may_do_everything(desk: Desk, clerk: Desk) -> None:
    form = {"groups": ["risk"], "is_superuser": "on", "password": PASSWORD, **WHY}
    desk.send("desk_person_groups", clerk.person.pk, form=form)
    desk.send("desk_operator_invite", form={"email": NEW, **form})
    browser = Client(headers={"Accept": "text/html"})
    browser.get(link())
    browser.post("/account/invitation", {"password": PASSWORD, "is_superuser": "on"})

    assert list(User.objects.filter(is_superuser=True)) == [desk.person]
    assert User.objects.get(pk=clerk.person.pk).check_password(PASSWORD)


# --- Switched off -----------------------------------------------------------------------------


def test_a_person_is_switched_off_and_on(desk: Desk, acme: ApiClient) -> None:
    helper = person("helper@acme.example", (acme.merchant, "support"))
    browser = let_in(Client(), helper)

    for name in ("desk_person_switch_off", "desk_person_switch_on"):
        for _ in range(2):
            assert desk.send(name, helper.pk, form=WHY).status_code == 303
        helper.refresh_from_db()
        assert helper.is_active == (name == "desk_person_switch_on")

    assert "_auth_user_id" not in browser.session
    assert actions()[-2:] == ["person.switched_off", "person.switched_on"]
    told = [one.to[0] for one in mail.outbox[:3]]
    owner = acme.merchant.members.get(role="owner").user.email
    assert told == [helper.email, *sorted([owner, desk.person.email])]


def test_the_last_owner_of_a_team_is_not_switched_off(desk: Desk, acme: ApiClient) -> None:
    owner = acme.merchant.members.get().user
    key, _secret = keys.create(acme.merchant, name="Second")

    assert desk.send("desk_person_switch_off", owner.pk, form=WHY).status_code == 400

    owner.refresh_from_db()
    assert owner.is_active
    assert key.revoked_at is None


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_two_owners_who_are_switched_off_at_once_leave_one(acme: ApiClient) -> None:
    root = User.objects.create_superuser("root@pay.example", PASSWORD)
    first = acme.merchant.members.get().user
    second = person("second@acme.example", (acme.merchant, "owner"))

    def off(whom: User) -> str:
        try:
            operators.switch_off(root, whom, reason="x")
        except operators.team.LastOwner:
            return "kept"
        return "off"

    told = together([lambda whom=whom: off(whom) for whom in (first, second) * 3])

    assert User.objects.filter(pk__in=[first.pk, second.pk], is_active=True).count() == 1
    assert "kept" in told


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_two_who_may_do_everything_switch_each_other_off_and_one_stays() -> None:
    roots = [User.objects.create_superuser(f"{n}@pay.example", PASSWORD) for n in (1, 2)]

    def off(by: User, whom: User) -> str:
        try:
            operators.switch_off(by, whom, reason="x")
        except operators.PermissionDenied:
            return "may not"
        return "off"

    told = together([lambda a=a, b=b: off(a, b) for a, b in (roots, roots[::-1])])

    assert sorted(told) == ["may not", "off"]
    assert User.objects.filter(is_active=True).count() == 1
