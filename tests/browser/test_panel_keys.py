"""API keys in a browser: made, used, rolled, revoked; in two ways of looking at the panel."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import requests

from merchants.models import ApiKey, Merchant
from tests.browser.page import Page
from tests.browser.test_panel import LOCALES, WORDS
from tests.stage.factories import open_merchant
from tests.stage.teams import PASSWORD, person
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL = "ada@acme.example"
KEYS = {
    "en": {
        "keys": "API keys", "create": "Create key", "name": "Name",
        "read only": "Read only", "made": "Copy the key now", "kept": "I have kept it",
        "requests": "Latest requests", "roll": "Roll", "hour": "In an hour",
        "ends": "The old key (…", "revoke": "Revoke", "stops": "These would stop working",
        "revoked": "The key was revoked.", "ended": "Keys that have ended",
        "none": "No request with this key", "copied": "Copied", "shown": "The secret was shown",
    },
    "tr": {
        "keys": "API anahtarları", "create": "Anahtar oluştur", "name": "Ad",
        "read only": "Salt okunur", "made": "Anahtarı şimdi kopyalayın",
        "kept": "Anahtarı sakladım", "requests": "Son istekler", "roll": "Yenile",
        "hour": "Bir saat sonra", "ends": "Eski anahtar (…", "revoke": "İptal et",
        "stops": "Bunlar çalışmaz olur", "revoked": "Anahtar iptal edildi.",
        "ended": "Sona ermiş anahtarlar", "none": "Bu anahtarla istek yok",
        "copied": "Kopyalandı", "shown": "Gizli değer gösterildi",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    return merchant


def secret_on(page: Page) -> str:
    """Return the secret that the page shows, in its own place and in the call to paste."""
    [secret] = set(re.findall(r"sk_sandbox_\w{49}", page.text))
    assert f"Bearer {secret}" in page.text
    return secret


def call(web: WebProcess, secret: str, path: str = "/v1/balance") -> int:
    """Call the API with a key, and return the status."""
    headers = {"Authorization": f"Bearer {secret}"}
    return requests.get(web.url + path, headers=headers, timeout=PATIENCE_SECONDS).status_code


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_a_key_is_made_used_rolled_and_revoked(
    acme: Merchant,
    open_page: Callable[..., Page],
    web: WebProcess,
    language: str,
    look: dict[str, Any],
) -> None:
    words, sign_in = KEYS[language], WORDS[language]
    page = open_page(locale=LOCALES[language], **look)

    def picture(name: str) -> None:
        page.keep_picture(f"walk-{name}-{language}-{look['theme']}-{look['width']}")

    page.visit(f"/panel/{acme.id}/keys")
    page.fill(sign_in["email"], EMAIL)
    page.fill(sign_in["password"], PASSWORD)
    page.click(sign_in["sign in"])
    page.see("First key")
    if not look.get("scripts", True):
        # Only a script can follow the device's theme: the person chooses it.
        page.click(sign_in["menu"])
        page.click_text(sign_in["look"])
        page.choose("Tema", "Koyu")
        page.click(sign_in["save"])
        page.see("First key")
    page.click(words["create"])
    page.fill(sign_in["password"], PASSWORD)
    picture("again")
    page.click(sign_in["confirm"])
    page.click(words["read only"])
    page.fill(words["name"], "Mağaza sunucusu")
    picture("create-key")
    page.click(words["create"])
    page.see(words["made"])
    picture("made-key")
    secret = secret_on(page)
    used = [call(web, secret, path) for path in ("/v1/balance", "/v1/customers", "/v1/refunds/x")]
    page.click(words["kept"])
    page.see(words["requests"])
    assert "/v1/customers" in page.text
    picture("key")
    page.click(words["roll"])
    page.check(words["hour"])
    picture("roll-key")
    page.click(words["roll"])
    page.see(words["ends"])
    picture("rolled-key")
    new = secret_on(page)
    page.click(words["kept"])
    page.see(words["none"])
    call(web, new, "/v1/payment_intents")
    page.click(words["revoke"])
    page.see(words["stops"])
    picture("revoke-key")
    page.click(words["revoke"])
    page.see(words["revoked"])
    page.visit(f"/panel/{acme.id}/keys")
    page.see(words["ended"])
    picture("keys")

    assert used == [200, 200, 404]
    assert (call(web, secret), call(web, new)) == (200, 401)
    assert ApiKey.objects.filter(merchant=acme).count() == 3


@pytest.mark.parametrize("scripts", [True, False])
def test_a_double_click_makes_one_key_and_shows_its_secret(
    acme: Merchant, open_page: Callable[..., Page], *, scripts: bool
) -> None:
    page = open_page(locale=LOCALES["en"], scripts=scripts)
    page.visit(f"/panel/{acme.id}/keys/{acme.api_keys.get().id}/roll")
    page.fill("Email", EMAIL)
    page.fill("Password", PASSWORD)
    page.click("Sign in")
    page.fill("Password", PASSWORD)
    page.click("Confirm")
    page.see("The old key ends")

    page.double_click("Roll")
    page.see("Copy the key now")

    assert secret_on(page)
    assert ApiKey.objects.filter(merchant=acme, name="First key").count() == 2
