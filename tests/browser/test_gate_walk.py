"""A payer's way by a gate that takes the card from the browser, in Chromium, at a bank's doors.

Three origins and three processes, as in an installation; nothing is played but the shop.
"""

from collections.abc import Callable

import pytest
from django.test import override_settings
from playwright.async_api import Error

from config import bank_doors
from tests.browser.page import Page
from tests.browser.sandbox import Merchant, Payment
from tests.browser.walk import (
    APPROVED,
    ASKED,
    AT_THE_SHOP,
    CONFIRMED,
    CONTINUE,
    CONTINUE_TO_BANK,
    REFUSED,
    assert_not_paid,
    assert_paid_once,
    book,
    return_from,
)
from tests.stage.factories import GOOD_CARD
from tests.stage.web_process import WebProcess

WITH_BANK = True
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

OUR_PAGE, GO, ELSEWHERE = (
    "You are being sent to your bank",
    "Go to your bank",
    "Go on where you began",
)
BROWSERS_OWN = "chrome-error://chromewebdata/"
NOT_KEPT = "ERR_CACHE_MISS"
FORM_SCRIPT = "payer_gate.js"
with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])
OpenPage = Callable[..., Page]


@pytest.fixture(params=[door for door in bank_doors.DOORS if door != bank_doors.SANDBOX])
def acme(
    service: WebProcess, bank: WebProcess, shop: str, request: pytest.FixtureRequest
) -> Merchant:
    """A shop whose payments go to the bank by the protocol of a real one."""
    merchant = Merchant(service.url, shop)
    with override_settings(TESTBANK_URL=bank.url, TESTBANK_PUBLIC_URL=bank.url):
        bank_doors.lead(merchant.row, request.param)
    return merchant


def go_to_bank(page: Page, payment: Payment, *, scripts: bool) -> None:
    """Follow the shop's link, press our button, and let the form with the card go to the bank."""
    page.visit(payment.link)
    page.click(CONTINUE_TO_BANK)
    go_on(page, scripts=scripts)


def go_on(page: Page, *, scripts: bool) -> None:
    if not scripts:
        page.see(GO, status=203)
        page.click(GO)
    page.see(ASKED)


def approve(page: Page, payment: Payment, *, scripts: bool) -> None:
    go_to_bank(page, payment, scripts=scripts)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=scripts)


# --- What a payer decides ---------------------------------------------------------------------


@with_and_without_scripts
def test_a_payer_who_approves_has_paid(open_page: OpenPage, acme: Merchant, scripts: bool) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()

    approve(page, payment, scripts=scripts)

    assert page.url == payment.way_back
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_a_payer_who_does_not_has_not(open_page: OpenPage, acme: Merchant, scripts: bool) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()

    go_to_bank(page, payment, scripts=scripts)
    page.click("Reject")
    return_from(page, REFUSED, scripts=scripts)

    assert page.url == payment.way_back
    assert_not_paid(acme, payment, "authentication_failed")
    assert book() == []


# --- Twice, back, again -----------------------------------------------------------------------


@with_and_without_scripts
def test_a_payer_who_presses_everything_twice_pays_once(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    page.hold(FORM_SCRIPT)  # As on a slow line: the payer is quicker.
    page.hold("answer.js")

    page.visit(payment.link)
    page.double_click(CONTINUE_TO_BANK)
    page.see(GO, status=203)
    page.double_click(GO)
    page.see(ASKED)
    page.double_click("Approve")
    page.see(CONFIRMED)
    page.double_click(CONTINUE)
    page.see(AT_THE_SHOP)

    assert page.url == payment.way_back
    assert_paid_once(acme, payment)


def go_back_to_no_card(page: Page) -> None:
    """Press the back button where the form with the card was: the browser has kept no copy."""
    with pytest.raises(Error, match=NOT_KEPT):
        page.go_back()
    assert NOT_KEPT in page.take_findings()
    # Its own page comes a moment later, and would interrupt whatever follows.
    page.wait_for_address(BROWSERS_OWN)


def test_the_back_button_at_the_bank_leads_to_our_page_and_on_again(
    page: Page, acme: Merchant
) -> None:
    payment = acme.charge()
    go_to_bank(page, payment, scripts=True)

    page.go_back()
    page.see(OUR_PAGE)
    page.click(CONTINUE_TO_BANK)
    page.see(ASKED)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=True)

    assert_paid_once(acme, payment)


def test_without_scripts_the_back_button_at_the_bank_leads_to_no_card(
    open_page: OpenPage, acme: Merchant
) -> None:
    page, payment = open_page(scripts=False), acme.charge()
    go_to_bank(page, payment, scripts=False)

    go_back_to_no_card(page)
    go_to_bank(page, payment, scripts=False)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=False)

    assert_paid_once(acme, payment)


def test_the_back_button_after_approving_leads_to_the_answers_and_never_to_the_card(
    open_page: OpenPage, acme: Merchant
) -> None:
    page, payment = open_page(scripts=False), acme.charge()
    approve(page, payment, scripts=False)

    # The bank's answer, and the bank's question, which shows the answer by now.
    for _ in range(2):
        page.go_back()
        page.see(CONFIRMED)
    go_back_to_no_card(page)
    page.visit(payment.link)
    page.see(APPROVED)

    assert_paid_once(acme, payment)


def test_a_script_that_was_changed_on_the_way_does_not_run_beside_the_card(
    open_page: OpenPage, acme: Merchant
) -> None:
    page, payment = open_page(), acme.charge()
    page.hold(FORM_SCRIPT, instead="document.title = 'It reads the card.'")

    page.visit(payment.link)
    page.click(CONTINUE_TO_BANK)
    page.see(GO, status=203)

    assert page.evaluate("() => document.title") != "It reads the card."
    page.click(GO)
    page.see(ASKED)


@with_and_without_scripts
def test_every_page_may_be_loaded_again(open_page: OpenPage, acme: Merchant, scripts: bool) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    page.hold(FORM_SCRIPT)
    page.hold("answer.js")

    page.visit(payment.link)
    page.reload()
    page.click(CONTINUE_TO_BANK)
    page.see(GO, status=203)
    page.reload()
    page.see(GO, status=203)
    page.click(GO)
    page.see(ASKED)
    page.reload()
    page.click("Approve")
    page.see(CONFIRMED)
    page.reload()
    page.click(CONTINUE)
    page.see(AT_THE_SHOP)

    assert_paid_once(acme, payment)


# --- Elsewhere --------------------------------------------------------------------------------


@with_and_without_scripts
def test_a_second_browser_with_the_link_sees_no_card_and_the_first_goes_on(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    first, second = open_page(scripts=scripts), open_page(scripts=scripts)
    payment = acme.charge()
    second.visit(payment.link)
    go_to_bank(first, payment, scripts=scripts)

    second.click(CONTINUE_TO_BANK)
    second.see(ELSEWHERE, status=403)

    assert GOOD_CARD not in second.evaluate("document.documentElement.outerHTML")
    first.click("Approve")
    return_from(first, CONFIRMED, scripts=scripts)
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_a_browser_that_only_looked_takes_nothing_away(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    looked, page = open_page(scripts=scripts), open_page(scripts=scripts)
    payment = acme.charge()
    looked.visit(payment.link)
    looked.reload()

    approve(page, payment, scripts=scripts)

    looked.reload()
    looked.see(APPROVED)
    assert_paid_once(acme, payment)


# --- Every look -------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_on_the_way_stands_any_look(
    open_page: OpenPage, acme: Merchant, theme: str, width: int
) -> None:
    page, payment = open_page(theme=theme, width=width), acme.charge()
    page.hold(FORM_SCRIPT)

    page.visit(payment.link)
    page.click(CONTINUE_TO_BANK)
    page.see(GO, status=203)
    page.keep_picture(f"gate-{theme}-{width}")
    page.click(GO)
    page.see(ASKED)
    page.keep_picture(f"asked-{theme}-{width}")
    page.click("Approve")
    page.see(AT_THE_SHOP)

    assert_paid_once(acme, payment)
