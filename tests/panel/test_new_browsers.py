"""A sign-in in a browser that is new is told by mail: to the person, and to whom it may concern."""

import pytest
from django.core import mail
from django.test import Client

from merchants import accounts
from merchants.models import User
from tests.stage.client import ApiClient
from tests.stage.teams import PASSWORD, person

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

EMAIL = "ada@acme.example"


@pytest.fixture
def ada(acme: ApiClient) -> User:
    accounts.change(acme.merchant, {"notice_emails": ["it@acme.example", EMAIL]})
    return person(EMAIL, (acme.merchant, "developer"))


def sign_in(browser: Client) -> list[tuple[str, str]]:
    """Sign in; return receiver and text of the mails that it caused."""
    mail.outbox.clear()
    answer = browser.post(
        "/account/login",
        {"login": EMAIL, "password": PASSWORD},
        headers={"User-Agent": "Netscape Navigator"},
    )
    assert answer.status_code == 302
    return [(one.to[0], str(one.body)) for one in mail.outbox]


@pytest.mark.usefixtures("ada")
def test_the_first_sign_in_and_those_in_the_same_browser_are_not_told() -> None:
    browser = Client()

    assert sign_in(browser) == []
    browser.post("/account/logout")
    assert sign_in(browser) == []


def test_another_browser_is_told_to_the_person_and_to_the_merchants_addresses(ada: User) -> None:
    sign_in(Client())
    User.objects.filter(pk=ada.pk).update(language="tr")
    other = Client()

    told = sign_in(other)

    assert [address for address, _ in told] == [EMAIL, "it@acme.example"]
    assert "Netscape Navigator" in told[0][1]
    assert "127.0.0.1" in told[0][1]
    assert "/account/sessions" in told[0][1]
    assert "tanımadığımız" in told[0][1]
    assert "ada@acme.example signed in" in told[1][1]
    other.post("/account/logout")
    assert sign_in(other) == []


@pytest.mark.usefixtures("ada")
def test_a_merchant_silences_it_for_its_addresses_alone(acme: ApiClient) -> None:
    sign_in(Client())
    accounts.change(acme.merchant, {"silenced_notices": ["signed_in"]})

    assert [address for address, _ in sign_in(Client())] == [EMAIL]


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("cookie", ["", "x", "é", "[1]", "W10:1vN:forged"])
def test_a_cookie_that_is_none_of_ours_makes_no_browser_known(cookie: str) -> None:
    sign_in(Client())
    browser = Client()
    browser.cookies["browser"] = cookie

    assert len(sign_in(browser)) == 2
