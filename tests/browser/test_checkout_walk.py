"""A payer at a checkout session's page, in Chromium: without scripts and without cookies.

The back/forward cache is on: it brings pages with status 200 back as they were, card and all.
"""

import gzip
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from django.test import override_settings
from playwright.async_api import Error

from tests.browser.chromium import Chromium
from tests.browser.conftest import PROGRAMS
from tests.browser.page import Page
from tests.browser.sandbox import Merchant
from tests.browser.shop import moved
from tests.stage.factories import DECLINED_CARD, GOOD_CARD
from tests.stage.plans import BONUS, agree, plan
from tests.stage.sweeper import sweep_after
from tests.stage.web_process import WebProcess

WITH_BANK = True
AT_THE_SHOP = "Welcome back"
CVC = "917"
NOT_KEPT = "net::ERR_CACHE_MISS"  # Chromium's word for the answer to a form, which no cache keeps.
SILENT = "4000001100000017"  # Its bank charges it, and the answer is lost.
WORDS = {
    "en": {
        "number": "Card number", "month": "Month", "year": "Year", "cvc": "Security code",
        "name": "Name on card", "email": "E-mail", "line1": "Address", "city": "Town or city",
        "pay": "Pay ₺125.00", "declined": "Your bank did not accept this payment.",
        "problem": "There is a problem", "parts": "3 × ₺42.81, total ₺128.44", "press": "Pay",
        "waiting": "Please do not pay again.", "expired": "This payment page has expired",
        "bank": "Continue to your bank", "again": "Look again", "paid": "Payment complete",
        "unconfirmed": "You did not confirm the payment with your bank.",
        "cancel": "Cancel and go back to Acme Store", "asked": "Confirm your payment",
        "Approve": "Approve", "Reject": "Reject", "continue": "Continue",
    },
    "tr": {
        "number": "Kart numarası", "month": "Ay", "year": "Yıl", "cvc": "Güvenlik kodu",
        "name": "Kart üzerindeki ad", "email": "E-posta", "line1": "Adres", "city": "İl",
        "pay": "₺125,00 öde", "declined": "Bankanız bu ödemeyi kabul etmedi.",
        "problem": "Bir sorun var", "parts": "3 × ₺42,81, toplam ₺128,44", "press": "Öde",
        "waiting": "Lütfen yeniden ödemeyin.", "expired": "Bu ödeme sayfasının süresi doldu",
        "bank": "Bankanıza devam edin", "again": "Yeniden bak", "paid": "Ödeme tamamlandı",
        "unconfirmed": "Ödemeyi bankanızda onaylamadınız.",
        "cancel": "Vazgeç ve Acme Store sayfasına dön", "asked": "Ödemenizi onaylayın",
        "Approve": "Onayla", "Reject": "Reddet", "continue": "Devam et",
    },
}  # fmt: skip
STORED_CARD = {
    "number": GOOD_CARD, "name": "Ayse Yilmaz", "expiryMonth": "12", "expiryYear": "2040",
    "cvc": CVC,
}  # fmt: skip
PROFILE = [
    {"name": name, "value": value}
    for name, value in {
        "NAME_FULL": "Ayse Yilmaz", "EMAIL_ADDRESS": "ayse@example.com",
        "ADDRESS_HOME_STREET_ADDRESS": "Istiklal Cd. 1", "ADDRESS_HOME_LINE1": "Istiklal Cd. 1",
        "ADDRESS_HOME_CITY": "Berlin", "ADDRESS_HOME_ZIP": "10115", "ADDRESS_HOME_COUNTRY": "DE",
    }.items()
]  # fmt: skip
# By name without what is new with each form: the value, and whether the browser has filled it in.
FILLED_IN = """() => Object.fromEntries(
    [...document.querySelectorAll("input:not([type=hidden]), select")].map(one =>
        [one.name.replace(/_\\w{8}$/, ""), [one.value, one.matches(":autofill")]]))"""
LOADED = """() => performance.getEntries().filter(one => one.transferSize !== undefined)
    .map(one => [one.name, one.transferSize])"""
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


@pytest.fixture
def filling_chromium() -> Iterator[Chromium]:
    """A browser that fills in what it has stored: its headless shell has no autofill."""
    program = shutil.which("chromium")
    if not program:
        pytest.skip("There is no whole Chromium.")
    chromium = Chromium(program, "--headless=new")
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

    def decide(self, decision: str) -> None:
        """Go to the bank, press one of its buttons, and come back."""
        self.page.click(self.words["bank"])
        self.page.see(self.words["asked"])
        self.page.click(self.words[decision])
        self.page.click(self.words["continue"])

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
    walk.decide("Approve")
    walk.page.see(AT_THE_SHOP)

    payment = acme.get(f"/v1/payment_intents/{made['payment_intent']}")
    assert (payment["status"], payment["surcharge"]) == ("succeeded", 344)
    assert walk.page.cookies() == []
    walk.look_for_the_card(BONUS)


def test_back_after_3d_secure_shows_what_was_paid_and_charges_nothing_more(
    walk: Walk, acme: Merchant
) -> None:
    agree(acme.row, plan(3, 275))
    made = session(acme, payment_method_options={"card": {"three_d_secure": "required"}})
    walk.open(made["url"])
    walk.type_all(BONUS)
    walk.press()
    walk.page.check(walk.words["parts"])
    walk.page.click(walk.words["press"])
    walk.decide("Approve")
    walk.page.see(AT_THE_SHOP)

    # The bank's answer, its question, and the page that leads there.
    for _ in range(3):
        walk.page.go_back()
        assert BONUS not in walk.page.values()
    # The second step is the answer to a form: the browser asks first, then sends the card again.
    with pytest.raises(Error, match=NOT_KEPT):
        walk.page.go_back()
    walk.page.wait_for_address("chrome-error://chromewebdata/")
    assert NOT_KEPT in walk.page.take_findings()
    walk.page.reload()
    walk.page.see(walk.words["paid"])
    walk.page.go_back()
    walk.page.see(walk.words["paid"])

    payment = acme.get(f"/v1/payment_intents/{made['payment_intent']}")
    assert (payment["amount_received"], len(payment["attempts"])) == (12500, 1)


def test_a_payer_who_does_not_confirm_pays_afterwards(walk: Walk, acme: Merchant) -> None:
    options = {"card": {"three_d_secure": "required"}}
    made = session(acme, payment_method_options=options)
    walk.open(made["url"])
    for decision, words in (("Reject", walk.words["unconfirmed"]), ("Approve", AT_THE_SHOP)):
        walk.type_all()
        walk.press()
        walk.page.see(walk.words["bank"])
        walk.decide(decision)
        walk.page.see(words, status=200 if decision == "Approve" else 203)

    assert acme.get(f"/v1/checkout/sessions/{made['id']}")["status"] == "complete"
    assert walk.page.cookies() == []


def test_a_payer_of_a_silent_bank_waits_and_has_paid(
    walk: Walk, acme: Merchant, bank: WebProcess
) -> None:
    walk.open(session(acme)["url"])
    walk.type_all(SILENT)
    walk.press()
    walk.page.see(walk.words["waiting"])
    walk.page.keep_picture("checkout-waiting")
    walk.look_for_the_card(SILENT)

    with override_settings(TESTBANK_URL=bank.url):
        sweep_after(3600)
    walk.page.click(walk.words["again"])

    walk.page.see(walk.words["paid"])


def test_a_payer_may_go_back_to_the_shop_without_paying(walk: Walk, acme: Merchant) -> None:
    walk.open(session(acme, cancel_url=acme.return_url)["url"])
    walk.page.click(walk.words["cancel"])
    walk.page.see(AT_THE_SHOP)

    assert walk.page.url == acme.return_url


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


def test_a_stored_card_and_a_stored_profile_fill_each_field(
    filling_chromium: Chromium, web: WebProcess, acme: Merchant
) -> None:
    with filling_chromium.pages(web.url) as open_page:
        page = open_page(locale="en")
        page.visit(session(acme)["url"], status=203)
        page.autofill("Card number", card=STORED_CARD)
        page.autofill("Address", address={"fields": PROFILE})
        filled_in = page.evaluate(FILLED_IN)

    assert filled_in == {
        "number": [GOOD_CARD, True], "exp_month": ["12", True], "exp_year": ["2040", True],
        "cvc": [CVC, True], "name": ["Ayse Yilmaz", True], "email": ["ayse@example.com", True],
        "line1": ["Istiklal Cd. 1", True], "city": ["Berlin", True], "postal_code": ["10115", True],
        "country": ["DE", True], "note_2": ["", False],
    }  # fmt: skip


def as_sent_in_live(address: str, size: int) -> int:
    """Return the bytes of an answer, with a static file as `collectstatic` compresses it.

    A sandbox serves these files from their folders, as they are.
    """
    if "/static/" not in address:
        return size
    text = requests.get(address, timeout=30).content
    return size - len(text) + len(gzip.compress(text))


def test_a_cold_page_is_small(open_page: Callable[..., Page], acme: Merchant) -> None:
    page = open_page()
    page.visit(session(acme)["url"], status=203)

    loaded = {one: as_sent_in_live(one, size) for one, size in page.evaluate(LOADED)}

    print(f"{len(loaded)} requests, {sum(loaded.values())} bytes: {loaded}")  # noqa: T201
    assert 1 < len(loaded) <= 4, loaded
    assert 0 < sum(loaded.values()) <= 40_000, loaded


def test_every_field_is_known_to_autofill(acme: Merchant) -> None:
    page = requests.get(session(acme)["url"], timeout=30).text

    for known in (
        "cc-number", "cc-exp-month", "cc-exp-year", "cc-csc", "cc-name", "billing email",
        "billing address-line1", "billing address-level2", "billing postal-code", "billing country",
    ):  # fmt: skip
        assert page.count(f'autocomplete="{known}"') == 1
