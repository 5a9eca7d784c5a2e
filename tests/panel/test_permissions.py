"""Every page of a merchant: role by page by method, made from the table of addresses."""

from typing import Any

import pytest
from django.test import Client

from core import ids
from merchants.models import Member, Merchant
from panel import navigation, permissions
from panel.merchants import pages as merchants_pages
from panel.merchants import urls
from panel.permissions import PAGES, ROLES, Right
from tests.stage import planted_urls
from tests.stage.client import ApiClient
from tests.stage.lengths import tried
from tests.stage.panel_pages import address, address_of, addresses, pages, unlisted
from tests.stage.second_factors import add_app, half_signed_in
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
OPENS = {200, 302, 303, 400, 404, 409}


def test_every_page_has_a_row_and_every_row_a_page() -> None:
    assert unlisted() == set()
    assert {*PAGES} == {one.name for one in pages()}
    assert len(PAGES) >= 2


def test_a_page_without_a_row_is_found_and_opens_for_nobody(
    acme: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = "tests.stage.planted_urls"
    monkeypatch.setattr(urls, "urlpatterns", [*urls.urlpatterns, *planted_urls.PAGES])
    owner = signed_in(person("ada@acme.example", (acme.merchant, "owner")))

    answer = owner.get(f"/panel/{acme.merchant.id}/planted")

    assert unlisted() == {"planted"}
    assert answer.status_code == 403


def is_behind_the_door(view: Any) -> bool:
    """Tell whether a view asks for the rights in its page's row (`panel.merchants.pages.page`)."""
    while view and view.__code__ not in DOOR:
        view = getattr(view, "__wrapped__", None)
    return view is not None


DOOR = {merchants_pages.page()(lambda: None).__code__}


def test_every_page_is_behind_the_door() -> None:
    assert [one.name for one in pages() if not is_behind_the_door(one.callback)] == []


def test_a_page_without_the_door_is_found() -> None:
    assert not is_behind_the_door(assert_opens_its_pages_alone)


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("role", Member.Role.values)
def test_a_role_opens_a_page_of_its_own_and_none_of_anothers(acme: ApiClient, role: str) -> None:
    assert_opens_its_pages_alone(acme, role, ["keys", "refund_payment"])


# Every page by seven methods.
@pytest.mark.proof(part="walks")
@pytest.mark.only_full("two pages of each role are in every run")
@pytest.mark.parametrize("role", Member.Role.values)
def test_a_role_opens_its_pages_and_no_others(acme: ApiClient, role: str) -> None:
    assert_opens_its_pages_alone(acme, role, [*PAGES])
    tried(len(PAGES), "pages by role")


def assert_opens_its_pages_alone(acme: ApiClient, role: str, names: list[str]) -> None:
    client = signed_in(person(f"{role}@x.example", (acme.merchant, role)))

    for name in names:
        url = address_of(name, acme.merchant)
        rights = PAGES[name]
        for method in METHODS:
            right = rights.to(method)
            answer = client.generic(method, url)
            if answer.status_code == 405:
                assert right is None, (name, method)
            elif right is None or role not in ROLES[right]:
                assert answer.status_code == 403, (name, method)
            else:
                assert answer.status_code in OPENS, (name, method)


# The methods that pages take; no page takes another one, whoever asks (the table of roles, above).
OF_PAGES = [
    pytest.param(method, marks=pytest.mark.hardest) if method in ("GET", "POST") else method
    for method in METHODS
]


@pytest.mark.every_case("each page and model has its own right")
@pytest.mark.parametrize("method", METHODS)
def test_nobody_opens_a_page_without_signing_in(acme: ApiClient, method: str) -> None:
    for name, url in addresses(acme.merchant).items():
        answer = Client().generic(method, url)
        assert (answer.status_code, answer.url) == (302, f"/account/login?next={url}"), name


@pytest.mark.parametrize("method", OF_PAGES)
def test_half_a_sign_in_opens_no_page(acme: ApiClient, method: str) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    add_app(user)
    half = half_signed_in(user.email).http

    for name, url in addresses(acme.merchant).items():
        answer = half.generic(method, url)
        assert (answer.status_code, answer.url) == (302, f"/account/login?next={url}"), name


@pytest.mark.parametrize("who_requires", ["installation", "merchant"])
@pytest.mark.parametrize("method", OF_PAGES)
def test_without_the_required_second_factor_no_page_opens(
    acme: ApiClient, settings: Any, who_requires: str, method: str
) -> None:
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    pages = addresses(acme.merchant)
    if who_requires == "installation":
        settings.SECOND_FACTOR = "required"
    else:
        Merchant.objects.filter(pk=acme.merchant.pk).update(second_factor_required=True)

    for name, url in pages.items():
        answer = client.generic(method, url)
        # A method that the page does not take, or no role may use, is refused as ever.
        if who_requires == "merchant" and PAGES[name].to(method) is None:
            assert answer.status_code in (403, 405), name
        else:
            assert (answer.status_code in (302, 303), answer.url) == (True, ACCOUNT), name


ACCOUNT = "/account/security"


@pytest.mark.dear("asks for each page of the panel")
@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("merchant", ["foreign", "unknown", "malformed", "empty"])
@pytest.mark.parametrize("method", METHODS)
def test_a_merchant_that_is_not_mine_is_as_unknown_as_any(
    acme: ApiClient, globex: ApiClient, merchant: str, method: str
) -> None:
    client = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    merchants = {
        "foreign": globex.merchant.id, "unknown": ids.new("mer"), "malformed": "x'\"<b>",
        "empty": "%20",
    }  # fmt: skip
    for name in PAGES:
        answer = client.generic(method, address(name, merchants[merchant]))

        assert answer.status_code == 404, name
        assert _alike(answer) == _alike(client.generic(method, "/panel/mer_x/no/such/page"))
        assert not answer.cookies


def test_an_operator_is_no_member(acme: ApiClient) -> None:
    operator = person("operator@example.com")
    operator.is_staff = operator.is_superuser = True
    operator.save()

    assert signed_in(operator).get(f"/panel/{acme.merchant.id}").status_code == 404


def test_membership_and_role_are_read_with_each_request(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    client, url = signed_in(user), f"/panel/{acme.merchant.id}"
    monkeypatch.setitem(PAGES, "overview", permissions.Rights(Right.OWN))
    as_owner = client.get(url).status_code

    user.memberships.update(role=Member.Role.SUPPORT)
    as_support = client.get(url).status_code
    user.memberships.all().delete()

    assert (as_owner, as_support, client.get(url).status_code) == (200, 403, 404)


def test_a_refusal_is_in_words_and_shows_no_link_to_the_page(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(person("ada@acme.example", (acme.merchant, "support")))
    monkeypatch.setitem(PAGES, "search", permissions.Rights(Right.OWN))
    monkeypatch.setattr(
        navigation,
        "GROUPS",
        [navigation.MenuGroup("", (navigation.MenuEntry("search", "Secret page"),))],
    )

    refused = client.get(f"/panel/{acme.merchant.id}/search")
    home = client.get(f"/panel/{acme.merchant.id}")

    assert refused.status_code == 403
    assert "may not open this page" in refused.content.decode()
    assert "Secret page" not in home.content.decode()


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("right", "roles"),
    [
        (Right.SEE, "owner developer finance accountant support"),
        (Right.MOVE_MONEY, "owner finance support"),
        (Right.NOTE, "owner developer finance support"),
        (Right.CHANGE_CUSTOMERS, "owner finance support"),
        (Right.SEE_BALANCE, "owner developer finance accountant"),
        (Right.PAY_OUT, "owner finance"),
        (Right.DEVELOP, "owner developer"),
        (Right.SEE_LOGS, "owner developer support"),
        (Right.RESEND, "owner developer"),
        (Right.EXPORT, "owner finance accountant"),
        (Right.EXPORT_LOGS, "owner developer"),
        (Right.OWN, "owner"),
    ],
)
def test_the_table_of_roles_is_the_contracts(right: Right, roles: str) -> None:
    assert ROLES[right] == {*roles.split()}
    assert len(ROLES) == 12


def test_an_accountant_sees_what_finance_sees_and_sends_no_form_but_exports() -> None:
    sees = {
        role: {
            name for name, rights in PAGES.items() if role in ROLES[rights.see] and not rights.do
        }
        for role in (Member.Role.ACCOUNTANT, Member.Role.FINANCE)
    }
    sends = {name for name, row in PAGES.items() if row.do and "accountant" in ROLES[row.do]}

    assert sees[Member.Role.ACCOUNTANT] == sees[Member.Role.FINANCE]
    assert {name for name in sends if not name.startswith("export_")} == {"leave_team"}


def _alike(answer: Any) -> tuple[int, str]:
    """Return an answer without its request's own id."""
    text = answer.content.decode().replace(answer["Request-Id"], "")
    return answer.status_code, text
