"""Django's own admin under our policy: its scripts and styles load, and nothing is refused."""

from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse

from core import limits
from merchants.models import Merchant, User
from tests.browser.page import Page
from tests.stage.acts import owe, page_of
from tests.stage.book_keeping import Till
from tests.stage.factories import open_merchant
from tests.stage.lengths import length, tried

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# The gate opens every sixth list; the quick tests read all of them without a browser.
SHARE = length(short=6, full=1)
EMAIL, PASSWORD = "operator@example.com", "a long enough password"


@pytest.fixture
def operator(page: Page, settings: Any) -> Page:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    User.objects.create_superuser(EMAIL, PASSWORD)
    sign_in(page, PASSWORD)
    page.see("All that waits for a person")
    return page


def sign_in(page: Page, password: str) -> None:
    page.visit("/admin/")
    page.fill("Email", EMAIL)
    page.fill("Password", password)
    page.click("Sign in")


def address(model: type, page: str, *arguments: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def test_an_operator_writes_off_what_a_merchant_owes(operator: Page) -> None:
    till = Till(open_merchant("Acme Store", website="https://acme.example").merchant)
    owe(till, 3000)

    operator.visit(page_of(till))
    operator.see("Confirm that it is you")
    operator.fill("Password", PASSWORD)
    operator.click("Confirm")
    operator.see("may be written off")
    operator.fill("Amount:", "3000")
    operator.fill("Why, in your words:", "They are bankrupt.")
    operator.click("Write off")

    operator.see("3000 try was written off")
    assert till.sums()["available"] == 0


@pytest.mark.proof(part="looks")
def test_an_operator_signs_in_and_opens_the_lists(operator: Page) -> None:
    open_merchant("Acme Store", website="https://acme.example")
    lists = [address(model, "changelist") for model in admin.site._registry][::SHARE]

    for shown in lists:
        operator.visit(shown)

    tried(len(lists), "lists of the admin")


def test_an_operator_opens_a_merchant(operator: Page) -> None:
    acme = open_merchant("Acme Store", website="https://acme.example").merchant

    operator.visit(address(Merchant, "change", acme.pk))

    assert "Acme Store" in operator.text


def test_the_scripts_of_the_admin_run(operator: Page) -> None:
    operator.visit(address(User, "change", User.objects.get(email=EMAIL).pk))

    # Set by a script; the page itself has none.
    assert operator.evaluate("document.documentElement.dataset.theme") == "auto"
    assert operator.take_findings() == ""


def test_a_wrong_password_is_told_on_the_form(page: Page) -> None:
    sign_in(page, "a wrong one")

    page.see("specified are not correct")


def test_too_many_tries_from_an_address_are_a_page_in_words(open_page: Any) -> None:
    for _ in range(30):
        limits.count_sign_in("127.0.0.1")
    page = open_page(width=390, theme="dark")

    sign_in(page, PASSWORD)

    page.see("Wait a minute", status=429)
