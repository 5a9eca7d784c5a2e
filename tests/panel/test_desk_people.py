"""People at the desk: let in again, signed out, a key revoked; mails tell of it."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants import keys, second_factors, sign_in
from merchants.models import AuditEntry, User
from tests.stage.client import ApiClient
from tests.stage.desk import PASSWORD, Desk
from tests.stage.second_factors import add_app

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def owner(acme: ApiClient) -> User:
    return acme.merchant.members.get().user


def lock_out(user: User) -> None:
    for _ in range(10):
        sign_in.is_proved_by(user, "wrong")


def test_a_person_is_let_in_again(desk: Desk, acme: ApiClient, owner: User) -> None:
    helper = User.objects.create_user("helper@acme.example")
    acme.merchant.members.create(user=helper, role="support", created_at=acme.merchant.created_at)
    lock_out(helper)
    mail.outbox.clear()  # The mail that told them.
    assert "locked until" in desk.get("desk_person", helper.pk).content.decode()

    assert (
        desk.send("desk_person_unlock", helper.pk, form={"why": "They called."}).status_code == 303
    )

    helper.refresh_from_db()
    assert helper.wrong_in_a_row == 0
    [row] = AuditEntry.objects.filter(action="sign_in.unlocked")
    assert (row.chain, row.actor_name) == (f"user:{helper.pk}", desk.person.email)
    assert (row.reason, row.address) == ("They called.", "127.0.0.1")
    assert [letter.to for letter in mail.outbox] == [[helper.email], [owner.email]]


def test_who_is_not_locked_is_not_unlocked(desk: Desk, owner: User) -> None:
    desk.send("desk_person_unlock", owner.pk, form={"why": "They called."})

    assert not AuditEntry.objects.filter(action="sign_in.unlocked").exists()
    assert mail.outbox == []


def test_a_person_is_signed_out_everywhere(desk: Desk, owner: User) -> None:
    browser = Client()
    browser.force_login(owner)
    assert desk.get("desk_person", owner.pk).context["sessions"] == 1

    for _ in range(2):
        answer = desk.send("desk_person_end_sessions", owner.pk, form={"why": "Lost laptop."})
        assert answer.status_code == 303

    assert "_auth_user_id" not in browser.session
    assert AuditEntry.objects.filter(action="session.ended").count() == 1
    assert [letter.to for letter in mail.outbox] == [[owner.email]]
    assert desk.get("desk_people").status_code == 200  # The operator's own session stays.


def test_lost_second_factors_are_taken_off(desk: Desk, owner: User) -> None:
    add_app(owner)
    browser = Client()
    browser.force_login(owner)

    for _ in range(2):
        answer = desk.send("desk_person_take_off", owner.pk, form={"why": "They came by."})
        assert answer.status_code == 303

    assert not second_factors.has_one(owner)
    assert "_auth_user_id" not in browser.session
    [row] = AuditEntry.objects.filter(action="mfa.removed")
    assert (row.chain, row.reason) == (f"user:{owner.pk}", "They came by.")


def test_a_new_owner_chooses_a_password_by_mail_and_gets_in(desk: Desk, acme: ApiClient) -> None:
    form = {"email": "Eve@acme.example", "why": "The owner died."}
    refused = desk.send("desk_merchant_owner", acme.merchant.id, form={"email": "x", "why": "y"})
    mail.outbox.clear()

    desk.send("desk_merchant_owner", acme.merchant.id, form=form)
    browser = Client()
    browser.post("/account/password/reset", {"email": "eve@acme.example"})
    link = next(word for word in mail.outbox[-1].body.split() if "/password/reset/" in word)
    page = browser.get("/" + link.split("/", 3)[3])
    browser.post(page.url, {"password1": PASSWORD, "password2": PASSWORD})
    browser.post("/account/login", {"login": "eve@acme.example", "password": PASSWORD})

    assert refused.status_code == 400
    assert b"Make an owner" in desk.get("desk_merchant_access", acme.merchant.id).content
    assert browser.get(f"/panel/{acme.merchant.id}/team").status_code == 200


@pytest.mark.parametrize(
    ("days", "is_active", "status"), [(89, True, 400), (91, True, 303), (89, False, 303)]
)
def test_the_desk_makes_no_owner_where_another_is_there(
    desk: Desk, acme: ApiClient, owner: User, days: int, is_active: bool, status: int
) -> None:
    was_here = timezone.now() - timedelta(days=days)
    User.objects.filter(pk=owner.pk).update(last_login=was_here, is_active=is_active)
    form = {"email": "mine@pay.example", "why": "The owner died."}

    answer = desk.send("desk_merchant_owner", acme.merchant.id, form=form)

    assert answer.status_code == status
    assert acme.merchant.members.count() == (1 if status == 400 else 2)
    assert (b"An owner was here" in answer.content) == (status == 400)


def test_an_owner_who_looks_every_day_is_there(desk: Desk, acme: ApiClient, owner: User) -> None:
    browser = Client()
    browser.force_login(owner)
    User.objects.filter(pk=owner.pk).update(last_login=None)

    form = {"email": "mine@pay.example", "why": "The owner died."}
    assert desk.send("desk_merchant_owner", acme.merchant.id, form=form).status_code == 400


def test_a_key_is_revoked_and_never_shown(desk: Desk, acme: ApiClient, owner: User) -> None:
    key, secret = keys.create(acme.merchant, name="<b>Second</b>")
    page = desk.get("desk_merchant_access", acme.merchant.id).content.decode()
    assert secret not in page
    assert "<b>Second" not in page

    for _ in range(2):
        answer = desk.send("desk_key_revoke", key.id, form={"why": "It leaked."})
        assert answer["Location"] == f"/admin/desk/merchants/{acme.merchant.id}/"

    assert acme.twin(secret).get("/v1/merchant").status == 401
    [row] = AuditEntry.objects.filter(action="key.revoked")
    assert (row.subject, row.reason, row.actor) == (key.id, "It leaked.", "operator")
    [letter] = mail.outbox
    assert letter.to == [owner.email]
    assert secret not in letter.body


def test_a_mail_server_that_is_away_undoes_nothing(
    desk: Desk, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("django.core.mail.EmailMessage.send", away)
    key, _secret = keys.create(acme.merchant, name="Second")

    desk.send("desk_key_revoke", key.id, form={"why": "It leaked."})

    key.refresh_from_db()
    assert key.revoked_at is not None
    assert "could not be sent" in desk.get("desk_people").content.decode()


@pytest.mark.parametrize(
    "name", ["desk_person_unlock", "desk_person_end_sessions", "desk_person_take_off"]
)
def test_nothing_is_done_without_a_reason(desk: Desk, owner: User, name: str) -> None:
    lock_out(owner)

    assert desk.send(name, owner.pk, form={"why": ""}).status_code == 400
    owner.refresh_from_db()
    assert owner.wrong_in_a_row == 10


@pytest.mark.parametrize("bad", ["x", "0", "-1", "9" * 40, "%ff"])
def test_an_unknown_person_is_404(desk: Desk, bad: str) -> None:
    assert desk.http.get(f"/admin/desk/people/{bad}/").status_code == 404


def test_an_unknown_key_is_404(desk: Desk) -> None:
    assert desk.get("desk_key_revoke", "key_unknown").status_code == 404


def test_people_are_found_by_their_address(desk: Desk, owner: User) -> None:
    found = desk.get("desk_people", q=owner.email[:6].upper()).context["found"]

    assert [row.email for row in found.rows] == [owner.email]


def test_a_list_of_people_asks_as_much_of_many_as_of_few(desk: Desk, acme: ApiClient) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert desk.get("desk_people").status_code == 200
        return len(queries)

    few = asked()
    for number in range(10):
        person = User.objects.create_user(f"p{number}@example.com")
        acme.merchant.members.create(
            user=person, role="support", created_at=acme.merchant.created_at
        )

    assert asked() == few
