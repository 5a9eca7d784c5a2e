"""Django's own admin under our policy: its scripts and styles load, and nothing is refused."""

from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse

from merchants.models import Merchant, User
from tests.browser.page import Page
from tests.factories import open_merchant

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL, PASSWORD = "operator@example.com", "a long enough password"


@pytest.fixture
def operator(page: Page, settings: Any) -> Page:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    User.objects.create_superuser(EMAIL, PASSWORD)
    page.visit("/admin/")
    page.fill("Email:", EMAIL)
    page.fill("Password:", PASSWORD)
    page.click("Log in")
    page.see("Site administration")
    return page


def address(model: type, page: str, *arguments: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def test_an_operator_signs_in_and_opens_every_list(operator: Page) -> None:
    open_merchant("Acme Store", website="https://acme.example")
    lists = [address(model, "changelist") for model in admin.site._registry]

    for shown in lists:
        operator.visit(shown)

    assert len(lists) > 8, lists


def test_an_operator_opens_a_merchant(operator: Page) -> None:
    acme = open_merchant("Acme Store", website="https://acme.example").merchant

    operator.visit(address(Merchant, "change", acme.pk))

    assert "Acme Store" in operator.text


def test_the_scripts_of_the_admin_run(operator: Page) -> None:
    operator.visit(address(User, "change", User.objects.get(email=EMAIL).pk))

    # Made by a script out of a plain list.
    assert "Choose all groups" in operator.read_out()
    # Django's script labels a <span>: not ours to mend.
    findings = operator.take_findings().splitlines()
    assert all("aria-prohibited-attr" in finding for finding in findings), findings
