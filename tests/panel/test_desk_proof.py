"""Each act of operators asks for a proof of who they are: at the desk, in tables, at the bank's.

Made from the table of URLs: a page that acts without asking is found, whoever made it.
"""

import time
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern
from django.urls.resolvers import RoutePattern

from core import acts
from merchants.models import AuditEntry, User
from tests.stage import planted_admin, second_factors
from tests.stage.client import ApiClient
from tests.stage.desk import Desk, address, table
from tests.stage.second_factors import AGAIN, CODE_AGAIN, add_app, code
from tests.stage.teams import prove
from tests.stage.visitors import PASSWORD

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Nothing is done there: each leads on.
LEAD_ON = {"login", "logout", "password_change", "password_change_done"}
# Of a table that nobody edits, Django refuses all these; its list may have acts of its own.
REFUSED = ("_add", "_history", "_delete", "_change")
FIVE_MINUTES = 300


@pytest.fixture
def unproved(db: None) -> Client:
    """The browser of somebody who may do everything, and has signed in some time ago."""
    client = Client(headers={"Accept": "text/html"})
    client.force_login(User.objects.create_superuser("root@example.com", PASSWORD))
    return client


def pages() -> list[tuple[str, URLPattern]]:
    """Return each page below `/admin/` that may act, with a plain address at which it is tried."""
    found = list(table(admin.site.get_urls()))
    plain = [one for one in found if isinstance(one[1].pattern, RoutePattern)]
    return [one for one in plain if not str(one[1].name).endswith(REFUSED)]


def is_asked(answer: Any) -> bool:
    return answer.status_code == 303 and answer["Location"].startswith(f"{AGAIN}?next=%2Fadmin%2F")


def acting_unasked(client: Client, of: list[tuple[str, URLPattern]]) -> list[str]:
    """Return the pages that take a POST of somebody who has proved nothing."""
    answers = [(w, client.post(f"/admin/{w}")) for w, one in of if one.name not in LEAD_ON]
    return [w for w, answer in answers if not is_asked(answer) and answer.status_code != 405]


def test_no_page_takes_a_post_without_a_proof(unproved: Client) -> None:
    tried = pages()

    assert acting_unasked(unproved, tried) == []
    assert len(tried) > 90, len(tried)


def test_a_page_that_takes_one_is_found(unproved: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.stage.planted_admin"

    found = acting_unasked(unproved, list(table(planted_admin.planted)))

    assert found == ["planted/outside/"]


def without_asking(client: Client) -> list[str]:
    """Return the acts whose form opens for somebody who has proved nothing."""
    doors = [(w, acts.door_of(one.callback)) for w, one in pages()]
    forms = [where for where, door in doors if door and door.is_act]
    assert len(forms) > 28, len(forms)
    return [where for where in forms if not is_asked(client.get(f"/admin/{where}"))]


def test_the_form_of_each_act_asks_before_anything_is_typed(unproved: Client) -> None:
    assert without_asking(unproved) == []


def test_an_act_of_a_table_without_the_door_is_found() -> None:
    """A page of a table that is none of Django's is an act, and has the door."""
    tables = tuple(f"{m._meta.app_label}_{m._meta.model_name}_" for m in admin.site._registry)
    ours = [one for _, one in pages() if str(one.name).startswith(tables)]
    doors = {str(one.name): acts.door_of(one.callback) for one in ours}
    acting = {name: door for name, door in doors.items() if not name.endswith("_changelist")}

    assert len(acting) > 12, acting
    assert [name for name, door in acting.items() if not (door and door.is_act)] == []


# --- The proof --------------------------------------------------------------------------------

WHY = {"why": "They called."}


@pytest.fixture
def owner(acme: ApiClient) -> User:
    return acme.merchant.members.get().user


def ended() -> int:
    return AuditEntry.objects.filter(action="session.ended").count()


def test_a_proof_is_good_for_five_minutes(owner: User) -> None:
    desk = Desk()
    page = address("desk_person_end_sessions", owner.pk)

    prove(desk.http, desk.person, at=time.time() - FIVE_MINUTES + 10)
    assert desk.http.get(page).status_code == 200
    prove(desk.http, desk.person, at=time.time() - FIVE_MINUTES)
    assert is_asked(desk.http.get(page))


def test_an_act_that_comes_too_late_is_not_done_and_leads_back_to_its_form(owner: User) -> None:
    desk = Desk()
    page = address("desk_person_end_sessions", owner.pk)
    Client().force_login(owner)
    prove(desk.http, desk.person, at=time.time() - FIVE_MINUTES)

    asked = desk.http.post(page, WHY)
    proved = desk.http.post(asked["Location"], {"password": PASSWORD})

    assert proved["Location"] == page
    assert ended() == 0
    assert desk.http.get(page).status_code == 200
    assert desk.http.post(page, WHY).status_code == 303
    assert ended() == 1


def test_a_card_number_in_an_address_is_shown_neither_at_the_sign_in_nor_at_the_proof(
    unproved: Client,
) -> None:
    page = f"{address('desk_list_add')}?kind=email&value=4242+4242+4242+4242"

    asked = unproved.get(page)
    shown = Client().get(page, follow=True).content.decode()

    assert asked["Location"] == f"{AGAIN}?next=%2Fadmin%2Fdesk%2Flists%2Fadd%2F"
    assert 'name="login"' in shown
    assert "4242" not in shown


def test_a_permission_is_asked_for_before_the_proof(owner: User) -> None:
    desk = Desk("reader@example.com", "merchants.view_user")
    prove(desk.http, desk.person, at=0)

    assert desk.get("desk_person_end_sessions", owner.pk).status_code == 403


def test_the_password_alone_proves_nothing_of_who_has_a_second_factor(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(second_factors.time, "time", lambda: now)
    desk = Desk()
    add_app(desk.person)
    prove(desk.http, desk.person, at=0)
    page = address("desk_person_end_sessions", owner.pk)

    asked = desk.http.get(page)
    by_password = desk.http.post(f"{AGAIN}?next={page}", {"password": PASSWORD})

    assert asked["Location"].startswith(f"{CODE_AGAIN}?next=")
    assert by_password["Location"].startswith(f"{CODE_AGAIN}?next=")
    assert AGAIN not in desk.http.get(asked["Location"]).content.decode()
    assert desk.http.get(page).status_code == 303
    assert desk.http.post(asked["Location"], {"code": code()})["Location"] == page
    assert desk.http.get(page).status_code == 200
