"""The team in the panel: invited, changed, removed; open tabs of those who went do nothing."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from merchants import invitations
from merchants import team as teams
from merchants.models import AuditEntry, Invitation, Member, Session, User
from panel.merchants import team_addresses
from tests.stage.client import ApiClient
from tests.stage.second_factors import add_app
from tests.stage.teams import PASSWORD, join, person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LINK = re.compile(r"http://\S+?(/account/invitation/[\w-]{43})")


@pytest.fixture
def ada(acme: ApiClient) -> User:
    return person("ada@acme.example", (acme.merchant, "owner"))


@pytest.fixture
def owner(ada: User) -> Client:
    return signed_in(ada)


@pytest.fixture
def eve(acme: ApiClient) -> Member:
    return join(person("eve@x.example"), acme.merchant, "finance")


def at(acme: ApiClient, *parts: Any) -> str:
    return "/".join([f"/panel/{acme.merchant.id}", *map(str, parts)])


def form_of(client: Client, url: str, **fields: Any) -> dict[str, Any]:
    return {"token": client.get(url).context["token"], **fields}


def send(client: Client, url: str, **fields: Any) -> Any:
    return client.post(url, form_of(client, url, **fields))


def actions(acme: ApiClient) -> list[tuple[str, str | None]]:
    rows = AuditEntry.objects.filter(merchant=acme.merchant, actor="user").order_by("sequence")
    return [(row.action, row.actor_name) for row in rows]


def link() -> str:
    """Return the path of the link in the mail that was sent last."""
    [path] = set(LINK.findall(str(mail.outbox[-1].body)))
    return path


# --- The list -----------------------------------------------------------------------------------


def test_members_have_role_second_factor_and_when_they_were_seen(
    owner: Client, acme: ApiClient, eve: Member
) -> None:
    add_app(eve.user)
    invitations.invite(acme.merchant.members.get(user__email="owner@acme.example"),
                       email="new@x.example", role="support")  # fmt: skip
    signed_in(eve.user).get(at(acme))

    page = owner.get(at(acme, "team"))

    rows = {row["member"].user.email: row for row in page.context["rows"]}
    assert {*rows} == {"owner@acme.example", "ada@acme.example", "eve@x.example"}
    assert rows["eve@x.example"]["has_factor"]
    assert rows["eve@x.example"]["member"].seen_at
    assert not rows["owner@acme.example"]["has_factor"]
    assert rows["owner@acme.example"]["member"].seen_at is None
    assert [one["invitation"].email for one in page.context["invitations"]] == ["new@x.example"]


def test_a_use_is_noted_once_a_minute(owner: Client, acme: ApiClient, ada: User) -> None:
    owner.get(at(acme))
    first = ada.memberships.get().seen_at
    owner.get(at(acme))

    assert ada.memberships.get().seen_at == first


# --- Inviting -----------------------------------------------------------------------------------


def test_a_new_person_is_invited_and_opens_an_account(owner: Client, acme: ApiClient) -> None:
    invited = send(owner, at(acme, "team/invite"), email="New@X.example", role="support")
    guest = Client(headers={"Accept": "text/html"})
    path = link()

    followed = guest.get(path)
    asked = guest.get(followed.url)
    joined = guest.post(followed.url, {"password": "a long enough password"})
    again = guest.post(followed.url, {"password": "a long enough password"})

    assert (invited.status_code, invited.url) == (303, at(acme, "team"))
    assert [one.to for one in mail.outbox] == [["new@x.example"]]
    assert mail.outbox[0].alternatives[0][1] == "text/html"
    assert followed.url == "/account/invitation"
    assert path.rpartition("/")[2] not in asked.content.decode()
    assert (joined.status_code, joined.url) == (303, f"/account/login?next={at(acme)}")
    assert (again.status_code, "no such invitation" in again.content.decode()) == (404, True)
    assert guest.get(path).status_code == 410
    member = acme.merchant.members.get(user__email="new@x.example")
    assert (member.role, member.user.check_password("a long enough password")) == ("support", True)
    assert actions(acme) == [
        ("invitation.sent", "ada@acme.example"), ("invitation.accepted", "new@x.example"),
    ]  # fmt: skip


def test_the_new_person_signs_in(owner: Client, acme: ApiClient) -> None:
    send(owner, at(acme, "team/invite"), email="new@x.example", role="support")
    guest = Client(headers={"Accept": "text/html"})
    guest.post(guest.get(link()).url, {"password": PASSWORD})

    guest.post("/account/login", {"login": "new@x.example", "password": PASSWORD})

    assert guest.get(at(acme)).status_code == 200
    assert guest.get(at(acme, "team")).status_code == 403


@pytest.mark.parametrize("password", ["", "short", "qwerty123456", "new@x.example"])
def test_a_poor_password_is_refused(owner: Client, acme: ApiClient, password: str) -> None:
    send(owner, at(acme, "team/invite"), email="new@x.example", role="support")
    guest = Client(headers={"Accept": "text/html"})

    refused = guest.post(guest.get(link()).url, {"password": password})

    assert refused.status_code == 400
    assert not User.objects.filter(email="new@x.example").exists()


def test_a_person_of_another_merchant_signs_in_and_joins(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    bob = person("bob@globex.example", (globex.merchant, "developer"))
    send(owner, at(acme, "team/invite"), email="bob@GLOBEX.example", role="finance")
    guest = Client(headers={"Accept": "text/html"})
    page = guest.get(link()).url

    asked = guest.get(page).content.decode()
    guest.post("/account/login", {"login": bob.email, "password": PASSWORD, "next": page})
    shown = guest.get(page).content.decode()
    joined = guest.post(page)

    assert "/account/login?next=/account/invitation" in asked
    assert "Join the team of Acme Store" in shown
    assert (joined.status_code, joined.url) == (303, at(acme))
    assert guest.get(at(acme)).status_code == 200
    assert guest.get(f"/panel/{globex.merchant.id}").status_code == 200
    assert "Globex" in guest.get("/account/security").content.decode()


def test_an_invitation_of_somebody_else_is_not_taken(owner: Client, acme: ApiClient) -> None:
    mallory = person("mallory@x.example")
    send(owner, at(acme, "team/invite"), email="bob@x.example", role="owner")
    browser = signed_in(mallory)
    page = browser.get(link()).url

    shown, sent = browser.get(page), browser.post(page)

    assert (shown.status_code, sent.status_code) == (410, 410)
    assert "another e-mail address" in sent.content.decode()
    assert "bob@x.example" not in sent.content.decode()
    assert not mallory.memberships.exists()


@pytest.mark.parametrize("token", ["x", "%00", "é", "a" * 5000, "-" * 43])
def test_a_made_up_link_is_unknown(token: str) -> None:
    answer = Client(headers={"Accept": "text/html"}).get(f"/account/invitation/{token}")

    assert answer.status_code == 404
    assert token == "%00" or "There is no such invitation" in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": "x", "role": "support"}, "email"),
        ({"email": "", "role": "support"}, "email"),
        ({"email": "owner@acme.example", "role": "support"}, "email"),
        ({"email": "x@x.example", "role": "admin"}, "role"),
        ({"email": "x@x.example"}, "role"),
    ],
)
def test_a_refusal_stands_at_its_input(
    owner: Client, acme: ApiClient, fields: dict[str, str], field: str
) -> None:
    answer = send(owner, at(acme, "team/invite"), **fields)

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == [field]
    assert (mail.outbox, actions(acme)) == ([], [])


def test_the_same_form_twice_invites_once(owner: Client, acme: ApiClient) -> None:
    form = form_of(owner, at(acme, "team/invite"), email="x@x.example", role="support")

    first, again = (owner.post(at(acme, "team/invite"), form) for _ in range(2))
    other = owner.post(at(acme, "team/invite"), form | {"email": "y@x.example"})

    assert (first.url, again.url, other.status_code) == (at(acme, "team"), first.url, 409)
    assert (len(mail.outbox), Invitation.objects.count()) == (1, 1)


def test_sent_again_the_old_link_ends(owner: Client, acme: ApiClient) -> None:
    send(owner, at(acme, "team/invite"), email="x@x.example", role="support")
    old, row = link(), Invitation.objects.get()

    answer = send(owner, at(acme, "invitations", row.pk, "resend"))

    guest = Client(headers={"Accept": "text/html"})
    assert answer.status_code == 303
    assert link() != old
    assert (guest.get(old).status_code, guest.get(link()).status_code) == (410, 302)


def test_a_withdrawn_invitation_is_refused(owner: Client, acme: ApiClient) -> None:
    send(owner, at(acme, "team/invite"), email="x@x.example", role="support")
    url = at(acme, "invitations", Invitation.objects.get().pk, "withdraw")

    done = send(owner, url)

    assert done.status_code == 303
    refused = Client(headers={"Accept": "text/html"}).get(link())
    assert (refused.status_code, owner.get(url).status_code) == (410, 404)
    assert "withdrawn" in refused.content.decode()
    assert [action for action, _ in actions(acme)] == ["invitation.sent", "invitation.withdrawn"]


# --- Roles, removing, leaving -------------------------------------------------------------------


def test_a_role_is_changed_and_the_person_signs_in_anew(
    owner: Client, acme: ApiClient, eve: Member
) -> None:
    theirs = signed_in(eve.user)
    open_form = form_of(theirs, at(acme, "team/leave"))

    answer = send(owner, at(acme, "team", team_addresses.of(eve), "role"), role="support")
    late = theirs.post(at(acme, "team/leave"), open_form)

    eve.refresh_from_db()
    assert (answer.status_code, eve.role) == (303, "support")
    assert (late.status_code, late.url.split("?")[0]) == (302, "/account/login")
    assert actions(acme) == [("member.role_changed", "ada@acme.example")]


def test_a_removed_persons_tab_is_refused(owner: Client, acme: ApiClient, eve: Member) -> None:
    theirs = signed_in(eve.user)
    theirs.get(at(acme))

    answer = send(owner, at(acme, "team", team_addresses.of(eve), "remove"))

    clicked = theirs.get(at(acme))
    assert answer.status_code == 303
    assert (clicked.status_code, clicked.url.split("?")[0]) == (302, "/account/login")
    assert signed_in(eve.user).get(at(acme)).status_code == 404
    assert not Member.objects.filter(pk=eve.pk).exists()


def test_an_owner_removed_elsewhere_does_nothing_with_the_tab_that_is_open(
    owner: Client, acme: ApiClient, ada: User, eve: Member
) -> None:
    url = at(acme, "team", team_addresses.of(eve), "remove")
    form = form_of(owner, url)
    other = acme.merchant.members.get(user__email="owner@acme.example")
    teams.remove(other, ada.memberships.get())

    answer = owner.post(url, form)

    assert (answer.status_code, answer.url.split("?")[0]) == (302, "/account/login")
    assert Member.objects.filter(pk=eve.pk).exists()


def test_an_owner_leaves_in_two_tabs(owner: Client, acme: ApiClient, ada: User) -> None:
    url = at(acme, "team/leave")
    forms = [form_of(owner, url) for _ in range(2)]

    first, second = (owner.post(url, form) for form in forms)

    assert (first.status_code, first.url) == (303, "/panel/")
    assert second.status_code == 404
    assert "No merchant yet" in owner.get("/panel/").content.decode()
    assert actions(acme) == [("member.removed", "ada@acme.example")]


def test_the_last_owner_is_told_why_not(owner: Client, acme: ApiClient) -> None:
    other = acme.merchant.members.get(user__email="owner@acme.example")
    teams.leave(other)

    left = send(owner, at(acme, "team/leave"))
    me = acme.merchant.members.get()
    demoted = send(owner, at(acme, "team", team_addresses.of(me), "role"), role="finance")

    for answer in (left, demoted):
        assert answer.status_code == 400
        assert "keeps at least one owner" in answer.content.decode()
    assert acme.merchant.members.get().role == "owner"


def test_to_remove_oneself_is_to_leave(owner: Client, acme: ApiClient, ada: User) -> None:
    me = ada.memberships.get()

    assert owner.get(at(acme, "team", team_addresses.of(me), "remove")).url == at(
        acme, "team/leave"
    )
    assert (
        owner.post(at(acme, "team", team_addresses.of(me), "remove"), {"token": "x"}).status_code
        == 302
    )
    assert Member.objects.filter(pk=me.pk).exists()


def test_an_owner_who_becomes_another_stays_signed_in(
    owner: Client, acme: ApiClient, ada: User
) -> None:
    answer = send(
        owner, at(acme, "team", team_addresses.of(ada.memberships.get()), "role"), role="developer"
    )

    assert (answer.status_code, answer.url) == (303, at(acme))
    assert owner.get(at(acme)).status_code == 200
    assert owner.get(at(acme, "team")).status_code == 403


def test_everybody_may_leave(acme: ApiClient, eve: Member) -> None:
    theirs = signed_in(eve.user)

    assert "Leave the team of Acme Store" in theirs.get("/account/security").content.decode()
    assert send(theirs, at(acme, "team/leave")).url == "/panel/"
    assert not Member.objects.filter(pk=eve.pk).exists()


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("page", ["role", "remove"])
@pytest.mark.parametrize("whose", ["foreign", "x", "0", "9" * 40, "%D9%A1"])
def test_a_person_of_another_team_is_unknown(
    owner: Client, acme: ApiClient, globex: ApiClient, page: str, whose: str
) -> None:
    theirs = globex.merchant.members.get()
    url = at(acme, "team", team_addresses.of(theirs) if whose == "foreign" else whose, page)

    assert owner.get(url).status_code == 404
    assert owner.post(url, {"token": "x", "role": "support"}).status_code == 404
    assert globex.merchant.members.get().role == "owner"


def test_another_merchants_invitation_is_unknown(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    made = invitations.invite(globex.merchant.members.get(), email="x@x.example", role="owner")

    for page in ("resend", "withdraw"):
        url = at(acme, "invitations", made.invitation.pk, page)
        assert owner.get(url).status_code == owner.post(url, {"token": "x"}).status_code == 404
    assert invitations.found(made.token)


# --- Second factors -----------------------------------------------------------------------------


def test_an_owner_requires_second_factors(
    owner: Client, acme: ApiClient, globex: ApiClient, ada: User, eve: Member
) -> None:
    join(eve.user, globex.merchant, "support")
    url = at(acme, "team/second_factors")
    refused = send(owner, url, required="yes")
    add_app(ada)

    done = send(owner, url, required="yes")

    theirs = signed_in(eve.user)
    assert "to your own account first" in refused.content.decode()
    assert done.status_code == 303
    led = theirs.get(at(acme))
    assert (led.status_code, led.url) == (302, "/account/security")
    assert "requires a second factor" in theirs.get(led.url).content.decode()
    assert theirs.get(f"/panel/{globex.merchant.id}").status_code == 200
    add_app(eve.user)
    assert theirs.get(at(acme)).status_code == 200
    assert [action for action, _ in actions(acme)] == ["merchant.updated"]


def test_the_requirement_is_taken_back_once(owner: Client, acme: ApiClient, ada: User) -> None:
    add_app(ada)
    url = at(acme, "team/second_factors")
    send(owner, url, required="yes")
    stale = form_of(owner, url, required="no")
    send(owner, url, required="no")

    owner.post(url, stale)

    acme.merchant.refresh_from_db()
    assert not acme.merchant.second_factor_required
    assert acme.events_of(acme.merchant.id) == []


# --- One's own account --------------------------------------------------------------------------


def test_a_person_sees_what_happened_to_their_account(owner: Client, ada: User) -> None:
    other = person("bob@x.example")
    for user in (ada, other):
        client = Client(headers={"Accept": "text/html"})
        client.post("/account/login", {"login": user.email, "password": PASSWORD})

    page = owner.get("/account/activity")
    lost = owner.get("/account/activity", {"starting_after": "aud_x"})

    assert [row["entry"].action for row in page.context["rows"]] == ["sign_in.succeeded"]
    assert {row["entry"].subject for row in page.context["rows"]} == {str(ada.pk)}
    assert lost.status_code == 400


def test_forms_need_their_csrf_token(acme: ApiClient, ada: User, eve: Member) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    strict.force_login(ada)

    for url in (at(acme, "team/invite"), at(acme, "team", team_addresses.of(eve), "remove"),
                at(acme, "team/leave"), "/account/invitation"):  # fmt: skip
        assert strict.post(url, {"token": "x"}).status_code == 403, url
    assert actions(acme) == []


def test_the_token_is_kept_nowhere(owner: Client, acme: ApiClient) -> None:
    send(owner, at(acme, "team/invite"), email="x@x.example", role="support")
    token = link().rpartition("/")[2]
    Client(headers={"Accept": "text/html"}).get(link())

    rows = [*Invitation.objects.values(), *AuditEntry.objects.values(), *Session.objects.values()]
    assert token not in str(rows)
