"""Support asks for a payment by link in a browser, copies the link by one key, and calls it off."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants.models import Merchant
from payments.checkout import creation, expiry, links
from payments.checkout.models import CheckoutSession
from tests.browser.looks import OPPOSITE, in_opposite_looks, share
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, signed_in
from tests.stage.factories import PaymentFactory, open_merchant
from tests.stage.lengths import tried
from tests.stage.panel_pages import address
from tests.stage.teams import person

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

WORDS = {
    "en": {
        "ask": "Ask for a payment", "amount": "Amount", "wrong": "1,5", "right": "125.00",
        "refused": "Give an amount such as", "email": "E-mail address",
        "days": "The link works for",
        "three": "3 days", "make": "Make the link", "ready": "The payment page is ready.",
        "copied": "Copied", "end": "End", "consequence": "the payment is canceled",
        "ended": "The payment page was ended.",
    },
    "tr": {
        "ask": "Ödeme iste", "amount": "Tutar", "wrong": "1.5", "right": "125,00",
        "refused": "gibi bir tutar verin", "email": "E-posta adresi",
        "days": "Bağlantının geçerli olduğu süre", "three": "3 gün", "make": "Bağlantı oluştur",
        "ready": "Ödeme sayfası hazır.", "copied": "Kopyalandı", "end": "Sonlandır",
        "consequence": "ödeme iptal edilir", "ended": "Ödeme sayfası sonlandırıldı.",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    return merchant


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_a_payment_is_asked_for_by_link_and_called_off(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words, may = WORDS[language], ["clipboard-read", "clipboard-write"]
    page = signed_in(open_page, language, permissions=may, **look)

    page.visit(address("payment_pages", acme.id))
    page.click(words["ask"])
    page.fill(words["amount"], words["wrong"])
    page.click(words["make"])
    page.see(words["refused"], status=400)
    page.fill(words["amount"], words["right"])
    page.fill(words["email"], "zeynep@x.example")
    page.choose(words["days"], words["three"])
    page.click(words["make"])
    page.see(words["ready"])
    link = links.address(CheckoutSession.objects.get().id)
    shown_path = link.partition("/pay/")[2]
    assert shown_path in page.text
    if look.get("scripts", True):
        page.press("c")
        page.wait_for_text("#told", words["copied"])
        assert page.evaluate("navigator.clipboard.readText()").endswith(shown_path)
    page.click(words["end"])
    page.see(words["consequence"])
    page.click(words["end"])
    page.see(words["ended"])

    made = CheckoutSession.objects.select_related("intent").get()
    assert (made.status, made.intent.status, made.intent.amount) == ("expired", "canceled", 12500)


@in_opposite_looks
def test_a_page_is_whole_open_and_ended(
    acme: Merchant, open_page: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    nothing = dict.fromkeys(("authorized_minor", "captured_minor"), 0)
    payment = PaymentFactory(
        merchant=acme, status="requires_payment_method", description="Sipariş 7", **nothing
    )
    told = {"payment_intent": payment.id, "customer_email": "zeynep@x.example"}
    ended = expiry.expire(acme, creation.create(acme, told).id)
    opened = creation.create(acme, told | {"success_url": "https://acme.example/thanks"})
    shown = {
        "payment page": address("payment_page", acme.id, opened.id),
        "payment page ended": address("payment_page", acme.id, ended.id),
        "payment pages": address("payment_pages", acme.id),
        "payment with pages": address("payment", acme.id, payment.id),
        "ask again refused": address("ask_again", acme.id, payment.id),
        "end": address("end_payment_page", acme.id, opened.id),
        "ask": address("ask_for_payment", acme.id),
    }
    shown = share(shown, language, theme, width, of=OPPOSITE)
    page = signed_in(open_page, language, width=width, theme=theme)

    for name, url in shown.items():
        page.visit(url)
        page.keep_picture(f"checkout {name}-{language}-{theme}-{width}")
    tried(len(shown), "pages")
