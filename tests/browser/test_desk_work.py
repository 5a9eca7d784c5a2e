"""Two operators at one row of each kind of work: of two at once the second sees who has it."""

from typing import Any

import pytest

from merchants.models import User
from tests.browser.page import Page, click_at_once
from tests.stage.bank_transport import bank_in_process
from tests.stage.client import ApiClient
from tests.stage.factories import open_merchant
from tests.stage.lengths import length, tried
from tests.stage.waiting_work import work_of_every_kind

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PASSWORD = "a long enough password"
BUTTONS = "[...document.querySelectorAll('[aria-label^=\"Take on: \"]')].map(one => one.ariaLabel)"


@pytest.fixture
def work(settings: Any) -> dict[str, str]:
    """Return the name of a piece of work of each kind."""
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    with bank_in_process():
        shop = ApiClient(open_merchant("Acme Store", website="https://acme.example"))
        return work_of_every_kind(shop)


def sign_in(page: Page, email: str) -> None:
    User.objects.create_superuser(email, PASSWORD)
    page.visit("/admin/desk/work/")
    page.fill("Email", email)
    page.fill("Password", PASSWORD)
    page.click("Sign in")
    page.see("All that waits for a person")
    page.visit("/account/reauthenticate?next=/admin/desk/work/")
    page.fill("Password", PASSWORD)
    page.click("Confirm")
    page.see("All that waits for a person")


@pytest.mark.proof(part="looks")
def test_of_two_operators_at_once_the_second_sees_who_has_it(
    open_page: Any, work: dict[str, str]
) -> None:
    people = {
        "ada@pay.example": open_page(theme="dark"),
        "bob@pay.example": open_page(width=390),
    }
    for email, page in people.items():
        sign_in(page, email)
    shown = people["ada@pay.example"].evaluate(BUTTONS)
    buttons = length(short=shown[:2], full=shown)

    for button in buttons:
        for page in people.values():
            page.visit("/admin/desk/work/")
        click_at_once(button, *people.values())
        has_it = [one for one, page in people.items() if page.sees_either("You have it", "has it")]
        assert len(has_it) == 1, button
        for email, page in people.items():
            if email in has_it:
                page.see("You have it")
            else:
                page.see(f"{has_it[0]} has it", status=409)
        people[has_it[0]].keep_picture(f"work-taken-{buttons.index(button)}")

    assert len(shown) == len(work)
    tried(len(buttons), "kinds of work, taken on by two at once")
