"""People sign in by password, app, recovery code and passkey, in a browser."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth

from devstack.state import ROOT
from merchants import sign_in
from merchants.models import User
from tests.browser.page import DESKTOP_WIDTH, PHONE_WIDTH, Page
from tests.stage.second_factors import SEED, add_app, add_recovery_codes
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL, PASSWORD, ANOTHER = "ada@acme.example", "a long enough password", "another long password"
PICTURES = ROOT / ".local" / "pictures"


@pytest.fixture(autouse=True)
def ada(db: None, settings: Any) -> User:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
    return User.objects.create_user(EMAIL, PASSWORD)


@pytest.fixture
def panel(web: WebProcess) -> str:
    """The panel's address: a passkey is of a name."""
    return web.url.replace("127.0.0.1", "localhost")


def begin(page: Page, panel: str, password: str = PASSWORD) -> None:
    page.visit(f"{panel}/account/login?next=/account/security")
    page.fill("Email", EMAIL)
    page.fill("Password", password)
    page.click("Sign in")


def sign_out(page: Page) -> None:
    page.click("Sign out")
    page.see("Forgot your password?")


def prove_again(page: Page) -> None:
    page.see("Confirm that it is you")
    page.fill("Password", PASSWORD)
    page.click("Confirm")


def code_of(seed: str) -> str:
    counter = int(time.time()) // 30
    return auth.format_hotp_value(auth.hotp_value(seed, counter))


def test_a_passkey_is_added_and_signs_in_alone(page: Page, panel: str) -> None:
    page.add_authenticator()
    begin(page, panel)
    page.see("You have no second factor yet")
    page.click("Add a passkey")
    prove_again(page)
    page.see("A passkey lets you sign in without a password")
    page.click("Add a passkey")
    page.see("They are shown this once")
    page.click("I have kept them")
    page.see("You have 1 passkey")
    sign_out(page)

    page.visit(f"{panel}/account/login?next=/account/sessions")
    page.click("Sign in with a passkey")

    page.see("You are")
    page.visit(f"{panel}/account/sessions")
    page.see("this session")


def test_a_passkey_is_the_second_step_after_a_password(page: Page, panel: str) -> None:
    test_a_passkey_is_added_and_signs_in_alone(page, panel)
    page.visit(f"{panel}/account/security")
    sign_out(page)

    begin(page, panel)
    page.see("Second step")
    page.click("Use a passkey")

    page.see("Your account")


def test_an_app_is_added_and_asked_for(page: Page, panel: str) -> None:
    begin(page, panel)
    page.click("Add an app")
    prove_again(page)
    page.see("Scan this picture")
    seed = re.search(r"\b[A-Z2-7]{32}\b", page.text)[0]  # type: ignore[index]
    page.fill("Authenticator code", code_of(seed))
    page.click("Add the app")
    page.see("They are shown this once")
    codes = re.findall(r"\b\d{8}\b", page.text)
    page.click("I have kept them")
    sign_out(page)

    begin(page, panel)
    page.see("Second step")
    page.fill("Code", codes[0])
    page.click("Sign in")

    page.see("9 codes are left")


def test_a_wrong_one_and_a_right_one_during_the_lock_read_alike(page: Page, panel: str) -> None:
    for _ in range(9):
        sign_in.count(EMAIL)
    told = set()
    for password in ("wrong", "wrong", PASSWORD):
        begin(page, panel, password)
        page.see("specified are not correct")
        told.add(page.text)

    assert len(told) == 1


def test_without_scripts_on_a_phone_a_code_lets_in(
    open_page: Callable[..., Page], panel: str, ada: User
) -> None:
    add_app(ada)
    page = open_page(width=PHONE_WIDTH, theme="dark", scripts=False)

    begin(page, panel)
    page.see("Second step")
    page.fill("Code", code_of(SEED))
    page.click("Sign in")

    page.see("Your account")


# --- What the pages look like -------------------------------------------------------------------

PAGES = [
    "login", "password/reset", "password/reset/sent", "password/reset/done",
    "password/reset/1-abc-def", "inactive",
]  # fmt: skip
INSIDE = [
    "security", "sessions", "password", "reauthenticate", "logout", "authenticator/remove",
    "recovery-codes", "recovery-codes/new", "code/again", "passkeys", "passkeys/add",
]  # fmt: skip


@pytest.fixture
def pictures() -> Path:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP_WIDTH, PHONE_WIDTH])
def test_every_page_of_the_account_is_sound(
    open_page: Callable[..., Page], panel: str, ada: User, pictures: Path, width: int, theme: str
) -> None:
    page = open_page(width=width, theme=theme)

    def look(paths: list[str]) -> None:
        for path in paths:
            page.visit(f"{panel}/account/{path}")
            page.picture(pictures / f"{path.replace('/', '_')}-{width}-{theme}.png")

    look(PAGES)
    begin(page, panel)
    page.see("You have no second factor yet")
    page.visit(f"{panel}/account/authenticator")
    prove_again(page)
    page.see("Scan this picture")
    page.picture(pictures / f"authenticator-{width}-{theme}.png")
    add_app(ada)
    add_recovery_codes(ada)
    look(INSIDE)
