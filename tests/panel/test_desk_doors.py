"""Each address below `/admin/` refuses strangers, by each method; made from the table of URLs."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import URLPattern, path

from merchants.models import User
from panel.operators import desk
from panel.operators.desk import Section
from panel.operators.sections import SECTIONS
from tests.stage.client import ApiClient
from tests.stage.desk import table
from tests.stage.teams import let_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
# Of Django's own pages and those of the rooms below: all others are answered like one of these.
METHODS_ELSEWHERE = ("get", "post")
# Open to all: the way in, and the names of Django's own words for its scripts.
OPEN = {"login"}
# Open to each operator: the first page, the tables, the way out, and their own password.
OF_EACH_OPERATOR = {
    "index", "tables", "logout", "password_change", "password_change_done", "jsi18n",
    "autocomplete", "view_on_site", None,
}  # fmt: skip
PASSWORD = "a long enough password"


def below_the_desk() -> list[tuple[str, URLPattern]]:
    return [one for one in table(admin.site.get_urls()) if one[0].startswith("desk/")]


def without_a_door(patterns: list[Any]) -> list[str]:
    return [address for address, one in table(patterns) if desk.door_of(one.callback) is None]


def addresses() -> list[str]:
    """Return each plain address below `/admin/`; Django's last one, which takes all, is none."""
    found = [a for a, one in table(admin.site.get_urls()) if one.name not in OPEN]
    return [f"/admin/{address}" for address in found if "(" not in address and "^" not in address]


def closed() -> list[str]:
    names = {f"/admin/{a}": one.name for a, one in table(admin.site.get_urls())}
    return [a for a in addresses() if names[a] not in OF_EACH_OPERATOR]


def tries(of: list[str]) -> Iterator[tuple[str, str]]:
    for address in of:
        is_ours = address.startswith("/admin/desk/")
        yield from product([address], METHODS if is_ours else METHODS_ELSEWHERE)


def user(email: str, **fields: Any) -> User:
    return User.objects.create_user(email, PASSWORD, **fields)


def send(client: Client, method: str, address: str) -> Any:
    return getattr(client, method)(address)


def with_permissions(person: User, *names: str) -> None:
    for name in names:
        label, _, codename = name.partition(".")
        wanted = Permission.objects.get(content_type__app_label=label, codename=codename)
        person.user_permissions.add(wanted)


def test_each_page_names_its_permission() -> None:
    assert without_a_door([pattern for _, pattern in below_the_desk()]) == []
    assert below_the_desk()


def planted(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("open to all")


def test_a_page_that_names_none_is_found() -> None:
    found = without_a_door([path("planted/", admin.site.admin_view(planted), name="planted")])

    assert found == ["planted/"]


def test_a_page_that_names_none_does_not_even_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="names no permission"):
        Section("Planted", [path("planted/", planted, name="planted")])


def test_each_permission_exists() -> None:
    known = {f"{p.content_type.app_label}.{p.codename}" for p in Permission.objects.all()}

    assert {desk.door_of(one.callback).permission for _, one in below_the_desk()} <= known


def assert_turned_away(answer: Any, method: str, address: str) -> None:
    assert answer.status_code in (302, 403, 405), (method, address, answer.status_code)
    if answer.status_code == 302 and address != "/admin/logout/":
        assert answer["Location"].startswith("/admin/login/"), (method, address)


@pytest.mark.dear("asks for some 130 pages, each by several methods")
def test_strangers_are_sent_to_the_sign_in(client: Client) -> None:
    for address, method in tries(addresses()):
        answer = send(client, method, address)

        assert_turned_away(answer, method, address)


@pytest.mark.dear("asks for some 130 pages, each by several methods")
def test_staff_of_a_merchant_are_no_operators(client: Client, acme: ApiClient) -> None:
    client.force_login(acme.merchant.members.get().user)

    for address, method in tries(addresses()):
        answer = send(client, method, address)

        assert_turned_away(answer, method, address)


@pytest.mark.dear("asks for some 130 pages, each by several methods")
def test_an_operator_without_the_permission_is_refused(client: Client) -> None:
    let_in(client, user("new@example.com", is_staff=True))

    for address, method in tries(closed()):
        answer = send(client, method, address)

        # Tables of rows that are not there say so first: they tell nothing else.
        assert answer.status_code in (403, 404, 405) or _is_led_home(answer), (method, address)


def _is_led_home(answer: Any) -> bool:
    return answer.status_code == 302 and answer["Location"] in ("/admin/", "/admin/login/")


@pytest.mark.parametrize(("address", "one"), below_the_desk(), ids=lambda value: str(value)[:40])
def test_a_page_opens_by_its_own_permission_alone(
    client: Client, address: str, one: URLPattern
) -> None:
    door = desk.door_of(one.callback)
    assert door
    others = {d.permission for _, p in below_the_desk() if (d := desk.door_of(p.callback))}
    barred, opened = (
        user("barred@example.com", is_staff=True),
        user("in@example.com", is_staff=True),
    )
    with_permissions(barred, *(others - {door.permission}))
    with_permissions(opened, door.permission)

    for method in METHODS:
        let_in(client, barred)
        assert send(client, method, f"/admin/{address}").status_code == 403, (method, address)

        let_in(client, opened)
        status = send(client, method, f"/admin/{address}").status_code
        is_taken = method.upper() in door.methods | ({"HEAD"} if "GET" in door.methods else set())
        assert (status != 405) == is_taken, (method, address, status)
        assert status not in (403, 500), (method, address, status)


def test_a_form_without_its_token_is_refused() -> None:
    client = Client(enforce_csrf_checks=True)
    let_in(client, User.objects.create_superuser("root@example.com", PASSWORD))

    for address, _one in below_the_desk():
        assert client.post(f"/admin/{address}").status_code == 403, address


def test_the_navigation_has_only_what_opens(client: Client) -> None:
    person = user("reader@example.com", is_staff=True)
    client.force_login(person)
    assert client.get("/admin/").context["desk_links"] == []

    with_permissions(person, SECTIONS[0].permission)

    allowed = [one.name for one in SECTIONS if one.permission == SECTIONS[0].permission]
    assert [link.name for link in client.get("/admin/").context["desk_links"]] == allowed


def test_auditors_read_all_of_the_desk_and_change_nothing(client: Client) -> None:
    auditor = user("auditor@example.com", is_staff=True)
    auditor.groups.add(Group.objects.get(name="auditors"))
    let_in(client, auditor)

    assert len(client.get("/admin/").context["desk_links"]) == len(SECTIONS)
    for address, one in below_the_desk():
        door = desk.door_of(one.callback)
        is_reading = door is not None and ".view_" in door.permission
        if door and "POST" in door.methods and not is_reading:
            assert client.post(f"/admin/{address}").status_code == 403, address


def test_the_groups_have_their_acts() -> None:
    def acts(name: str) -> set[str]:
        rows = Group.objects.get(name=name).permissions.exclude(codename__startswith="view_")
        return {row.codename for row in rows}

    assert acts("auditors") == set()
    assert acts("accounts") == {"change_merchant_terms", "import_bins"}
    assert acts("people") == {"manage_people"}
    assert acts("operators") == {"manage_operators"}
    assert acts("risk") == {"judge_fraud", "manage_lists"}
    assert acts("cases") == {"resolve_case"}
    assert "write_off" in acts("money")
