"""The panel's frame: where it leads, its look and language, and its place in caches."""

import pytest
from django.test import Client

from merchants.models import Member, Merchant, User
from tests.stage.client import ApiClient
from tests.stage.teams import PASSWORD, join, person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def overview(merchant: Merchant) -> str:
    return f"/panel/{merchant.id}"


def test_the_panel_leads_to_the_merchant_seen_last(acme: ApiClient, globex: ApiClient) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"), (globex.merchant, "support"))
    client = signed_in(user)

    first = client.get("/panel/").url
    client.get(overview(globex.merchant))

    assert (first, client.get("/panel/").url) == (
        overview(acme.merchant),
        overview(globex.merchant),
    )


def test_a_person_without_a_team_is_told(db: None) -> None:
    page = signed_in(person("nobody@x.example")).get("/panel/")

    assert "You are in no merchant" in page.content.decode()


def test_somebody_who_is_not_signed_in_is_led_to_the_sign_in(acme: ApiClient) -> None:
    answer = Client().get(overview(acme.merchant))

    assert answer.url == f"/account/login?next={overview(acme.merchant)}"


def test_pages_are_kept_in_no_cache(owner: Client, acme: ApiClient) -> None:
    page = owner.get(overview(acme.merchant))

    assert page["Cache-Control"] == "private, no-store"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


def test_the_switch_shows_the_other_merchants_only(acme: ApiClient, globex: ApiClient) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    alone = signed_in(user).get(overview(acme.merchant)).content.decode()
    join(user, globex.merchant, Member.Role.SUPPORT)

    page = signed_in(user).get(overview(acme.merchant)).content.decode()

    assert "Switch to another merchant" not in alone
    assert f'href="/panel/{globex.merchant.id}">Globex' in page


def test_theme_and_language_are_the_persons(owner: Client, acme: ApiClient) -> None:
    chosen = {"theme": "dark", "language": "tr", "shortcuts": "off"}
    here = f"http://testserver{overview(acme.merchant)}/search?q=x"

    answer = owner.post("/panel/look", chosen, headers={"Referer": here})
    page = owner.get(overview(acme.merchant)).content.decode()

    assert (answer.status_code, answer.url) == (303, here)
    assert 'lang="tr"' in page
    assert 'data-bs-theme="dark"' in page
    assert 'data-shortcuts="off"' in page


@pytest.mark.parametrize(
    "back",
    ["https://evil.example/", "//evil.example", "https:evil.example", "javascript:alert(1)", ""],
)
def test_a_choice_leads_back_to_our_own_pages_only(owner: Client, back: str) -> None:
    answer = owner.post("/panel/look", {"theme": "dark"}, headers={"Referer": back})

    assert answer.url == "/panel/"


def test_a_choice_that_is_none_of_ours_is_ignored(owner: Client, acme: ApiClient) -> None:
    owner.post("/panel/look", {"theme": '"><script>', "language": "xx", "merchant": "y"})

    page = owner.get(overview(acme.merchant)).content.decode()

    assert 'lang="en" data-theme="system"' in page
    assert not {"merchant", "theme", "language"} & set(owner.cookies)


@pytest.mark.parametrize(
    ("asked", "language"),
    [("tr-TR,tr;q=0.9,en;q=0.5", "tr"), ("de,en;q=0.5", "en"), ("de", "en"), ("%%;q=x", "en")],
)
def test_a_page_speaks_the_browsers_language(
    owner: Client, acme: ApiClient, asked: str, language: str
) -> None:
    page = owner.get(overview(acme.merchant), headers={"Accept-Language": asked})

    assert f'<html lang="{language}"' in page.content.decode()
    assert page["Content-Language"] == language
    assert "Accept-Language" in page["Vary"]


def test_the_api_speaks_english_whatever_is_asked(acme: ApiClient) -> None:
    answer = acme.get("/v1/nothing", headers={"Accept-Language": "tr"})

    assert "Content-Language" not in answer.headers


def test_a_chosen_language_is_kept_in_the_account(owner: Client, acme: ApiClient) -> None:
    person("eve@acme.example", (acme.merchant, "owner"))

    owner.post("/panel/look", {"language": "tr", "theme": "dark"})
    owner.post("/panel/look", {"language": "xx"})
    owner.post("/panel/look", {"theme": "light"})
    Client().post("/panel/look", {"language": "en"})

    languages = dict(User.objects.values_list("email", "language"))
    assert (languages["ada@acme.example"], languages["eve@acme.example"]) == ("tr", "")


@pytest.mark.parametrize(
    ("account", "cookie", "page", "kept"),
    [("tr", "", "tr", "tr"), ("tr", "en", "en", "en"), ("", "tr", "tr", "tr"), ("", "", "en", "")],
)
def test_a_browser_speaks_the_accounts_language_after_the_sign_in(
    acme: ApiClient, account: str, cookie: str, page: str, kept: str
) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    User.objects.filter(pk=user.pk).update(language=account)
    browser = Client(headers={"Accept": "text/html"})
    if cookie:
        browser.post("/panel/look", {"language": cookie})

    browser.post("/account/login", {"login": user.email, "password": PASSWORD})
    shown = browser.get(overview(acme.merchant))

    user.refresh_from_db()
    assert (shown["Content-Language"], user.language) == (page, kept)
