"""The merchant panel as a person uses it, in both languages, themes and widths."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants.models import Merchant
from tests.browser.looks import in_every_look, share
from tests.browser.page import Page
from tests.stage.factories import GOOD_CARD, PaymentFactory, open_merchant
from tests.stage.lengths import tried
from tests.stage.panel_pages import PARTS, addresses
from tests.stage.teams import PASSWORD, person

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL = "ada@acme.example"
LOCALES = {"en": "en-US", "tr": "tr-TR"}
WORDS = {
    "en": {
        "email": "Email", "password": "Password", "sign in": "Sign in", "overview": "Overview",
        "search": "Search", "found": "Found for", "card": "looks like a card number",
        "menu": "Menu", "sign out": "Sign out", "look": "Look and language", "save": "Save",
        "set up": "Set up payments", "confirm": "Confirm",
    },
    "tr": {
        "email": "E-posta", "password": "Parola", "sign in": "Oturum aç", "overview": "Genel bakış",
        "search": "Ara", "found": "için bulunanlar", "card": "kart numarasına benziyor",
        "menu": "Menü", "sign out": "Oturumu kapat", "look": "Görünüm ve dil", "save": "Kaydet",
        "set up": "Ödemeleri kurun", "confirm": "Onayla",
    },
}  # fmt: skip

SITES = {
    "en": {
        "website": "Website", "add": "Add website", "address": "Address",
        "refused": "A website is an https address", "added": "The address was added.",
        "test": "Test an address", "allowed": "By https://shop.example.", "remove": "Remove",
        "remove it": "Remove https://shop.example", "removed": "The address was removed.",
        "consequence": "Payments that are open go on.",
    },
    "tr": {
        "website": "Web sitesi", "add": "Web sitesi ekle", "address": "Adres",
        "refused": "bir https adresidir", "added": "Adres eklendi.", "test": "Bir adresi dene",
        "allowed": "https://shop.example sayesinde.", "remove": "Kaldır",
        "remove it": "https://shop.example adresini kaldır", "removed": "Adres kaldırıldı.",
        "consequence": "Açık olan ödemeler sürer.",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    other = open_merchant("Globex", website="https://globex.example").merchant
    person(EMAIL, (merchant, "owner"), (other, "developer"))
    for number in range(30):
        PaymentFactory(merchant=merchant, description=f"Sipariş #{1000 + number}")
    return merchant


def signed_in(open_page: Callable[..., Page], language: str, **look: Any) -> Page:
    page = open_page(locale=LOCALES[language], **look)
    words = WORDS[language]
    page.visit("/panel/")
    page.fill(words["email"], EMAIL)
    page.fill(words["password"], PASSWORD)
    page.click(words["sign in"])
    page.see(words["set up"])
    return page


def prove(page: Page, language: str) -> None:
    """Type the password again, for pages that ask for it."""
    words = WORDS[language]
    page.visit("/account/reauthenticate?next=/panel/")
    page.fill(words["password"], PASSWORD)
    page.click(words["confirm"])
    page.see(words["set up"])


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_a_person_finds_their_way(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words, is_phone = WORDS[language], look["width"] == 390
    page = signed_in(open_page, language, **look)

    page.visit(f"/panel/{acme.id}/search?q=sipari")
    page.see(words["found"])
    page.visit(f"/panel/{acme.id}/search?q={GOOD_CARD}", status=400)
    assert words["card"] in page.text
    if is_phone:
        page.click(words["menu"])
    page.click(words["overview"])
    page.see("Acme Store")
    if is_phone:
        page.click(words["menu"])
    page.click(words["sign out"])
    page.see(words["sign in"])
    page.visit(f"/panel/{acme.id}")
    page.see(words["password"])


@in_every_look
def test_every_page_is_whole_in_every_look(
    acme: Merchant, open_page: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    page = signed_in(open_page, language, width=width, theme=theme)
    prove(page, language)
    every = {name: url for name, url in addresses(acme).items() if name not in PARTS}
    pages = share(every, language, theme, width)

    for name, url in pages.items():
        page.visit(f"{url}?q=sipari&url=https://evil.example/back")
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate("document.documentElement.dataset.bsTheme") == theme
        page.keep_picture(f"{name}-{language}-{theme}-{width}")
        print(f"{name}: first paint after {page.first_paint_ms():.0f} ms")  # noqa: T201
    tried(len(pages), "pages")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_person_of_two_merchants_switches_between_them(
    acme: Merchant, open_page: Callable[..., Page], scripts: bool
) -> None:
    page = signed_in(open_page, "en", scripts=scripts)

    page.click_label("Switch to another merchant")
    page.click("Globex")
    page.see("Developer")
    other = page.url
    page.visit("/panel/")

    assert acme.id not in other
    assert page.url == other
    assert "Globex" in page.text


def test_a_chosen_theme_stays_without_scripts(
    acme: Merchant, open_page: Callable[..., Page]
) -> None:
    page = signed_in(open_page, "en", theme="light", scripts=False)

    page.click_text("Look and language")
    page.choose("Theme", "Dark")
    page.choose("Language", "Türkçe")
    page.click("Save")
    page.see("Ödemeleri kurun")

    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"


def test_keys_search_and_copy_unless_they_are_turned_off(
    acme: Merchant, open_page: Callable[..., Page]
) -> None:
    page = signed_in(open_page, "en", permissions=["clipboard-read", "clipboard-write"])

    page.press("c")
    page.wait_for_text("#told", "Copied")
    page.press("/")
    typed_into = page.evaluate("document.activeElement.name")
    page.press("c")
    typed = page.evaluate("document.activeElement.value")
    page.click_text("Look and language")
    page.choose("Keyboard shortcuts", "Off")
    page.click("Save")
    page.see("Acme Store")
    page.press("/")

    assert (typed_into, typed) == ("q", "c")
    assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_the_skip_link_leads_to_the_content(acme: Merchant, open_page: Callable[..., Page]) -> None:
    page = signed_in(open_page, "en")
    page.visit(f"/panel/{acme.id}")

    page.press("Tab")
    first = page.evaluate("document.activeElement.textContent")
    page.press("Enter")

    assert first == "Skip to the content"
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_a_website_is_added_tested_and_removed(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words = SITES[language]
    page = signed_in(open_page, language, **look)

    page.visit(f"/panel/{acme.id}/websites")
    page.fill(words["website"], "http://shop.example")
    page.click(words["add"])
    page.see(words["refused"], status=400)
    page.fill(words["website"], "https://shop.example")
    page.click(words["add"])
    page.see(words["added"])
    page.fill(words["address"], "https://www.shop.example/back")
    page.click(words["test"])
    page.see(words["allowed"])
    page.click(words["remove it"])
    page.see(words["consequence"])
    page.click(words["remove"])
    page.see(words["removed"])

    assert not acme.websites.filter(host="shop.example").exists()
