"""The overview's charts as people see them, in opposite looks; a bar leads to its list."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from merchants.models import Merchant
from tests.browser.looks import in_opposite_looks
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, LOCALES, WORDS
from tests.stage.factories import PaymentFactory, open_merchant
from tests.stage.teams import PASSWORD, person

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
CARDS = [
    {"program": "bonus", "issuer": "Garanti BBVA", "domestic": True},
    {"program": "maximum", "issuer": "Türkiye İş Bankası Anonim Şirketi", "domestic": True},
    {"program": None, "issuer": None, "domestic": False},
]
ERRORS = [
    {"code": "card_declined", "decline_code": "insufficient_funds"},
    {"code": "card_declined", "decline_code": "expired_card"},
    {"code": "authentication_abandoned"},
    {"code": "fraud_blocked", "decline_code": "fraudulent"},
]
# Of the texts in the pictures, in pixels of the window.
SIZES = """[...document.querySelectorAll('.plot text')].map(
    text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
FAILED = {"status": "requires_payment_method", "authorized_minor": 0, "captured_minor": 0}


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    for number in range(60):
        at, card = clock.now() - timedelta(days=number % 45), CARDS[number % 3]
        minor = 10_000 + 731 * (number % 17)
        sums = {"amount": minor, "authorized_minor": minor, "captured_minor": minor}
        PaymentFactory(merchant=merchant, created_at=at, card=card, **sums)
        if number % 3 == 0:
            error = ERRORS[number % 4]
            facts = {**FAILED, "last_payment_error": error, "card": card}
            PaymentFactory(merchant=merchant, created_at=at, **facts)
    return merchant


@in_opposite_looks
def test_the_charts_are_whole(
    acme: Merchant, open_page: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    page, words = open_page(locale=LOCALES[language], theme=theme, width=width), WORDS[language]
    page.visit("/panel/")
    page.fill(words["email"], EMAIL)
    page.fill(words["password"], PASSWORD)
    page.click(words["sign in"])
    declines = {"en": "Why banks declined", "tr": "Bankalar neden reddetti"}[language]
    page.see(declines)

    for days in (1, 7, 30, 90):
        page.visit(f"/panel/{acme.id}?days={days}")
        page.see(declines)
        sizes = page.evaluate(SIZES)
        assert len(sizes) > 10
        assert min(sizes) >= 10
        page.keep_picture(f"charts-{days}-{width}-{theme}")

    page.click({"en": "Declined by the bank", "tr": "Bankaca reddedildi"}[language])
    page.see({"en": "The same over the API", "tr": "API ile aynısı"}[language])
    assert page.evaluate("location.pathname") == f"/panel/{acme.id}/payments"
