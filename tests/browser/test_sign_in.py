"""People sign in by password, app, recovery code and passkey, in a browser."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.utils import translation

from merchants import invitations, operators, sign_in
from merchants.models import User
from tests.browser.looks import in_opposite_looks
from tests.browser.page import DESKTOP_WIDTH, PHONE_WIDTH, Page
from tests.stage.factories import open_merchant
from tests.stage.lengths import tried
from tests.stage.passkeys import Passkey
from tests.stage.second_factors import SEED, add_app, add_recovery_codes, code
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL, PASSWORD, ANOTHER = "ada@acme.example", "a long enough password", "another long password"


@pytest.fixture(autouse=True)
def ada(db: None, settings: Any) -> User:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
    return User.objects.create_user(EMAIL, PASSWORD)


@pytest.fixture
def panel(web: WebProcess) -> str:
    """The panel's address: a passkey is of a name."""
    return web.url.replace("127.0.0.1", "localhost")


# Two end on the way on no machine.
CODES_MOST = 3


class Walker:
    """A person at the sign-in who reads one language, in the words of the catalog."""

    def __init__(self, page: Page, language: str, panel: str) -> None:
        self.page, self.language, self.panel = page, language, panel

    def say(self, words: str) -> str:
        with translation.override(self.language):
            return translation.gettext(words)

    def say_number(self, one: str, many: str, number: int) -> str:
        with translation.override(self.language):
            return translation.ngettext(one, many, number) % {"number": number}

    def see(self, words: str) -> None:
        self.page.see(self.say(words))

    def click(self, words: str) -> None:
        self.page.click(self.say(words))

    def fill(self, label: str, typed: str) -> None:
        self.page.fill(self.say(label), typed)

    def begin(self, password: str = PASSWORD) -> None:
        self.page.visit(f"{self.panel}/account/login?next=/account/security")
        self.fill("Email", EMAIL)
        self.fill("Password", password)
        self.click("Sign in")

    def type_code(self, seed: str, label: str, button: str, *, then: str) -> None:
        """Type what the app shows, and what it shows next if the first ended on the way."""
        for _ in range(CODES_MOST):
            self.fill(label, code(seed))
            self.click(button)
            if self.page.sees_either(self.say(then), self.say("Incorrect code.")):
                break
        self.see(then)

    def sign_out(self) -> None:
        self.click("Sign out")
        self.see("Forgot your password?")

    def prove_again(self) -> None:
        self.see("Confirm that it is you")
        self.fill("Password", PASSWORD)
        self.click("Confirm")


# The two ways of looking at the panel; passkeys need scripts, so there the phone has them too.
WITH_SCRIPTS: list[tuple[str, dict[str, Any]]] = [
    ("en", {"width": DESKTOP_WIDTH, "theme": "light"}),
    ("tr", {"width": PHONE_WIDTH, "theme": "dark"}),
]
WALKS = [WITH_SCRIPTS[0], ("tr", {**WITH_SCRIPTS[1][1], "scripts": False})]
NO_FACTOR = (
    "You have no second factor yet. Add a passkey or an authenticator app, so that a stolen"
    " password is not enough."
)
ALONE = (
    "A passkey lets you sign in without a password. Your device asks for your finger, your face"
    " or its PIN."
)
SHOWN_ONCE = (
    "They are shown this once. Keep them where you find them without your phone: each lets you in"
    " one time."
)
SCAN = "Scan this picture with your app, then type the code that it shows."
WRONG = "The email address and/or password you specified are not correct."


@pytest.fixture
def walker(
    open_page: Callable[..., Page], panel: str, language: str, look: dict[str, Any]
) -> Walker:
    locale = {"en": "en-US", "tr": "tr-TR"}[language]
    return Walker(open_page(locale=locale, **look), language, panel)


@pytest.mark.parametrize(("language", "look"), WITH_SCRIPTS)
def test_a_passkey_is_added_and_signs_in_alone_or_after_a_password(walker: Walker) -> None:
    page = walker.page
    page.add_authenticator()
    walker.begin()
    walker.see(NO_FACTOR)
    walker.click("Add a passkey")
    walker.prove_again()
    walker.see(ALONE)
    walker.click("Add a passkey")
    walker.see(SHOWN_ONCE)
    walker.click("I have kept them")
    page.see(walker.say_number("You have %(number)s passkey.", "You have %(number)s passkeys.", 1))
    walker.sign_out()

    page.visit(f"{walker.panel}/account/login?next=/account/sessions")
    walker.click("Sign in with a passkey")
    walker.see("this session")
    page.visit(f"{walker.panel}/account/security")
    walker.sign_out()

    walker.begin()
    walker.see("Second step")
    walker.click("Use a passkey")
    walker.see("Your account")


@pytest.mark.parametrize(("language", "look"), WALKS)
def test_an_app_is_added_and_asked_for_and_a_recovery_code_lets_in(
    walker: Walker, ada: User
) -> None:
    page = walker.page
    walker.begin()
    walker.click("Add an app")
    walker.prove_again()
    walker.see(SCAN)
    seed = re.search(r"\b[A-Z2-7]{32}\b", page.text)[0]  # type: ignore[index]
    walker.type_code(seed, "Authenticator code", "Add the app", then=SHOWN_ONCE)
    codes = re.findall(r"\b\d{8}\b", page.text)
    walker.click("I have kept them")
    walker.sign_out()

    walker.begin()
    walker.see("Second step")
    walker.fill("Code", codes[0])
    walker.click("Sign in")
    page.see(walker.say_number("%(number)s code is left.", "%(number)s codes are left.", 9))
    walker.sign_out()

    # The code that added the app was used; another app shows another one.
    Authenticator.objects.filter(user=ada, type="totp").delete()
    add_app(ada)
    walker.begin()
    walker.see("Second step")
    walker.type_code(SEED, "Code", "Sign in", then="Your account")


@pytest.mark.parametrize(("language", "look"), WALKS)
def test_a_wrong_one_and_a_right_one_during_the_lock_read_alike(walker: Walker) -> None:
    for _ in range(9):
        sign_in.count(EMAIL)
    told = set()
    for password in ("wrong", "wrong", PASSWORD):
        walker.begin(password)
        walker.see(WRONG)
        told.add(walker.page.text)

    assert len(told) == 1


@pytest.mark.parametrize(("language", "look"), WALKS)
def test_a_person_signs_in_for_the_first_time_by_the_link_of_an_invitation(
    walker: Walker, panel: str
) -> None:
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    owner = merchant.members.get()
    token = invitations.invite(owner, email="new@acme.example", role="developer").token

    walker.page.visit(f"{panel}/account/invitation/{token}")
    walker.fill("Choose a password", PASSWORD)
    walker.click("Open account and join")
    walker.see("Your account is open. Sign in with your new password.")
    walker.fill("Email", "new@acme.example")
    walker.fill("Password", PASSWORD)
    walker.click("Sign in")

    walker.see("Set up payments")
    assert walker.page.url.endswith(f"/panel/{merchant.id}")


# --- What the pages look like -------------------------------------------------------------------

PAGES = [
    "login", "password/reset", "password/reset/sent", "password/reset/done",
    "password/reset/1-abc-def", "inactive",
]  # fmt: skip
INSIDE = [
    "security", "sessions", "activity", "password", "reauthenticate", "logout",
    "authenticator/remove",
    "recovery-codes", "recovery-codes/new", "code/again", "passkeys", "passkeys/add",
    "passkeys/again",
]  # fmt: skip


@in_opposite_looks
def test_every_page_of_the_account_is_sound(
    open_page: Callable[..., Page], panel: str, ada: User, language: str, theme: str, width: int
) -> None:
    page = open_page(width=width, theme=theme, locale={"en": "en-US", "tr": "tr-TR"}[language])
    walker = Walker(page, language, panel)

    def look(paths: list[str]) -> None:
        for path in paths:
            page.visit(f"{panel}/account/{path}")
            assert page.evaluate("document.documentElement.lang") == language
            page.keep_picture(f"account-{path.replace('/', '_')}-{language}-{theme}-{width}")

    root = User.objects.create_superuser("root@pay.example", PASSWORD)
    terms = {"invitation_id": "opi_1", "reason": "x"}
    _row, token = operators.invite(root, "new@pay.example", ["risk", "cases"], **terms)
    page.visit(f"{panel}/account/invitation/{token}")
    page.keep_picture(f"account-operator-{language}-{theme}-{width}")
    look(PAGES)
    walker.begin()
    walker.see(NO_FACTOR)
    page.visit(f"{panel}/account/authenticator")
    walker.prove_again()
    walker.see(SCAN)
    page.keep_picture(f"account-authenticator-{language}-{theme}-{width}")
    add_app(ada)
    add_recovery_codes(ada)
    Passkey(ada)
    look(INSIDE)
    tried(len(PAGES) + len(INSIDE), "pages")
