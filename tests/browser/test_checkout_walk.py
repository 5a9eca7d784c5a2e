"""A payer at a checkout session's page, in Chromium: without scripts and without cookies.

The back/forward cache is on: it brings pages with status 200 back as they were, card and all.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.browser.chromium import Chromium
from tests.browser.conftest import PROGRAMS
from tests.browser.page import Page
from tests.browser.sandbox import Merchant
from tests.browser.shop import moved
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, SILENT_CARD
from tests.stage.plans import BONUS, agree, plan
from tests.stage.web_process import WebProcess

WITH_BANK = True
AT_THE_SHOP = "Welcome back"
CVC = "917"
WORDS = {
    "en": {
        "number": "Card number", "month": "Month", "year": "Year", "cvc": "Security code",
        "name": "Name on card", "email": "E-mail", "line1": "Address", "city": "Town or city",
        "pay": "Pay ₺125.00", "declined": "Your bank did not accept this payment.",
        "problem": "There is a problem", "parts": "3 × ₺42.81, total ₺128.44", "press": "Pay",
        "waiting": "Please do not pay again.", "expired": "This payment page has expired",
        "bank": "Continue to your bank",
    },
    "tr": {
        "number": "Kart numarası", "month": "Ay", "year": "Yıl", "cvc": "Güvenlik kodu",
        "name": "Kart üzerindeki ad", "email": "E-posta", "line1": "Adres", "city": "İl",
        "pay": "₺125,00 öde", "declined": "Bankanız bu ödemeyi kabul etmedi.",
        "problem": "Bir sorun var", "parts": "3 × ₺42,81, toplam ₺128,44", "press": "Öde",
        "waiting": "Lütfen yeniden ödemeyin.", "expired": "Bu ödeme sayfasının süresi doldu",
        "bank": "Bankanıza devam edin",
    },
}  # fmt: skip
LOOKS = [
    {"locale": "en", "theme": "light", "width": 1280},
    {"locale": "tr", "theme": "dark", "width": 390},
]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


@pytest.fixture(scope="module")
def keeping_chromium() -> Iterator[Chromium]:
    """A browser that keeps pages for Back and Forward, as people's browsers do."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        pytest.skip("There is no Chromium.")
    chromium = Chromium(program, ignore_default_args=["--disable-back-forward-cache"])
    yield chromium
    chromium.close()


@pytest.fixture(params=LOOKS, ids=["english", "turkish"])
def walk(
    request: pytest.FixtureRequest, keeping_chromium: Chromium, web: WebProcess
) -> Iterator["Walk"]:
    look = dict(request.param)
    locale = look.pop("locale")
    with keeping_chromium.pages(web.url) as open_page:
        yield Walk(open_page(scripts=False, locale=locale, **look), WORDS[locale])


class Walk:
    """A payer who types, presses, and looks at what the browser has kept."""

    def __init__(self, page: Page, words: dict[str, str]) -> None:
        self.page, self.words = page, words

    def open(self, address: str) -> None:
        self.page.visit(address, status=203)

    def type_card(self, number: str = GOOD_CARD) -> None:
        for name, value in {"number": number, "month": "12", "year": "40", "cvc": CVC}.items():
            self.page.fill(self.words[name], value)

    def type_all(self, number: str = GOOD_CARD) -> None:
        self.type_card(number)
        self.page.fill(self.words["name"], "Ayşe Yılmaz")
        self.page.fill(self.words["email"], "ayse@example.com")
        self.page.fill(self.words["line1"], "İstiklal Cd. 1")
        self.page.fill(self.words["city"], "İstanbul")

    def press(self) -> None:
        self.page.click(self.words["pay"])

    def look_for_the_card(self, number: str = GOOD_CARD) -> None:
        """Press Back, Forward and reload; the card is nowhere."""
        for step in (self.page.go_back, self.page.go_forward, self.page.reload):
            step()
            kept = self.page.values()
            assert number not in kept
            assert CVC not in kept


def session(acme: Merchant, **changes: Any) -> dict[str, Any]:
    body = {"amount": 12500, "currency": "try", "success_url": acme.return_url, **changes}
    return acme.post("/v1/checkout/sessions", body)


def test_a_payer_pays_and_arrives_at_the_shop(walk: Walk, acme: Merchant) -> None:
    made = session(acme)

    walk.open(made["url"])
    walk.type_all()
    walk.page.keep_picture("checkout-typed")
    walk.press()
    walk.page.see(AT_THE_SHOP)

    assert walk.page.url == f"{acme.return_url}&payment_intent={made['payment_intent']}"
    assert walk.page.cookies() == []
    assert acme.get(f"/v1/checkout/sessions/{made['id']}")["status"] == "complete"
    walk.look_for_the_card()


def test_a_declined_payer_pays_with_another_card(walk: Walk, acme: Merchant) -> None:
    walk.open(session(acme)["url"])
    walk.type_all(DECLINED_CARD)
    walk.press()
    walk.page.see(walk.words["declined"], status=203)
    walk.page.keep_picture("checkout-declined")
    walk.look_for_the_card(DECLINED_CARD)

    walk.type_all()
    walk.press()
    walk.page.see(AT_THE_SHOP)


def test_wrong_fields_are_shown_at_once_and_the_number_is_not_asked_again(
    walk: Walk, acme: Merchant
) -> None:
    walk.open(session(acme)["url"])
    walk.type_card()
    walk.press()
    walk.page.see(walk.words["problem"], status=400)
    walk.page.see("•••• 4242", status=400)
    walk.page.keep_picture("checkout-wrong")

    walk.page.fill(walk.words["name"], "Ayşe Yılmaz")
    walk.page.fill(walk.words["email"], "ayse@example.com")
    walk.page.fill(walk.words["line1"], "İstiklal Cd. 1")
    walk.page.fill(walk.words["city"], "İstanbul")
    walk.press()
    walk.page.see(AT_THE_SHOP)


def test_a_payer_pays_in_three_parts_with_3d_secure(walk: Walk, acme: Merchant) -> None:
    agree(acme.row, plan(3, 275))
    options = {"card": {"three_d_secure": "required"}}
    made = session(acme, payment_method_options=options)

    walk.open(made["url"])
    walk.type_all(BONUS)
    walk.press()
    walk.page.see(walk.words["parts"])
    walk.page.keep_picture("checkout-parts")
    walk.page.check(walk.words["parts"])
    walk.page.click(walk.words["press"])
    walk.page.see(walk.words["bank"])
    payment = acme.get(f"/v1/payment_intents/{made['payment_intent']}")

    assert payment["status"] == "requires_action"
    assert walk.page.cookies() == []


def test_a_silent_bank_leaves_the_payer_waiting(walk: Walk, acme: Merchant) -> None:
    walk.open(session(acme)["url"])
    walk.type_all(SILENT_CARD)
    walk.press()
    walk.page.see(walk.words["waiting"])
    walk.page.keep_picture("checkout-waiting")


def test_a_session_that_ends_under_the_form_is_not_paid(walk: Walk, acme: Merchant) -> None:
    made = session(acme)
    walk.open(made["url"])
    walk.type_all()
    acme.post(f"/v1/checkout/sessions/{made['id']}/expire", {})
    walk.press()

    walk.page.see(walk.words["expired"], status=410)


def test_a_shop_that_redirects_to_another_host_is_reached(
    keeping_chromium: Chromium, web: WebProcess, service: WebProcess, shop: str
) -> None:
    acme = Merchant(service.url, moved(shop))
    with keeping_chromium.pages(web.url) as open_page:
        walk = Walk(open_page(scripts=False, locale="en"), WORDS["en"])
        walk.open(session(acme)["url"])
        walk.type_all()
        walk.press()
        walk.page.see(AT_THE_SHOP)

        assert walk.page.url.startswith("http://localhost:")


@pytest.mark.every_case("the browser keeps what was typed, and none of ours")
@pytest.mark.parametrize(("name", "is_kept"), [("number", True), ("", False)])
def test_a_field_that_keeps_its_name_is_filled_in_by_back(
    keeping_chromium: Chromium, shop: str, name: str, is_kept: bool
) -> None:
    """Show that the walks above look: what was typed is found, if a field has its old name.

    Forms with status 200 are kept whole by browsers with a window; this one keeps none.
    """
    with keeping_chromium.pages(shop.removesuffix("/return")) as open_page:
        page = open_page(locale="en")
        page.visit(f"/form/{name}", status=203)
        page.fill("Card number", GOOD_CARD)
        page.visit("/return")
        page.go_back()

        assert (GOOD_CARD in page.values()) == is_kept


def test_every_field_is_known_to_autofill(acme: Merchant) -> None:
    page = requests.get(session(acme)["url"], timeout=30).text

    for known in (
        "cc-number", "cc-exp-month", "cc-exp-year", "cc-csc", "cc-name", "email",
        "billing address-line1", "billing address-level2", "billing postal-code", "billing country",
    ):  # fmt: skip
        assert page.count(f'autocomplete="{known}"') == 1
