"""A payer's way through 3-D Secure, in Chromium: the shop, our page, the bank's, and back.

Three origins and three processes, as in an installation; nothing is played but the shop.
"""

from collections.abc import Callable

import pytest
from django.test import override_settings

from tests.browser.page import Page
from tests.browser.sandbox import Merchant
from tests.browser.shop import moved
from tests.browser.walk import (
    APPROVED,
    ASKED,
    AT_THE_SHOP,
    CONFIRMED,
    CONTINUE_TO_BANK,
    FAILED,
    REFUSED,
    approve,
    assert_not_paid,
    assert_paid_once,
    book,
    go_to_bank,
    return_from,
)
from tests.stage.plans import BONUS, agree, plan
from tests.stage.sweeper import sweep_after
from tests.stage.web_process import WebProcess

WITH_BANK = True
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

LONG_NAME = "Çağlayan & Oğulları Uluslararası Elektronik Ticaret ve Danışmanlık A.Ş."
with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])
OpenPage = Callable[..., Page]


# --- What a payer decides ---------------------------------------------------------------------


@with_and_without_scripts
def test_a_payer_who_approves_has_paid(open_page: OpenPage, acme: Merchant, scripts: bool) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()

    approve(page, payment, scripts=scripts)

    assert page.url == payment.way_back
    assert page.cookies() == []
    assert_paid_once(acme, payment)


def test_a_payer_arrives_at_a_shop_that_redirects_to_another_origin_of_its_own(
    page: Page, service: WebProcess, shop: str
) -> None:
    acme = Merchant(service.url, moved(shop))
    payment = acme.charge()

    approve(page, payment, scripts=True)

    assert page.url.startswith("http://localhost:")
    assert_paid_once(acme, payment)


@with_and_without_scripts
@pytest.mark.parametrize("decision", ["Reject", "Cancel"])
def test_a_payer_who_does_not_has_not(
    open_page: OpenPage, acme: Merchant, decision: str, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()

    go_to_bank(page, payment)
    page.click(decision)
    return_from(page, REFUSED, scripts=scripts)

    assert page.url == payment.way_back
    assert_not_paid(acme, payment, "authentication_failed")
    assert payment.told() == ["created", "requires_action", "payment_failed"]
    assert book() == []


@with_and_without_scripts
def test_a_payer_whose_bank_falls_silent_is_told_not_to_pay_twice(
    open_page: OpenPage, acme: Merchant, bank: WebProcess, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()

    go_to_bank(page, payment)
    page.click("Don't answer")
    return_from(page, CONFIRMED, scripts=scripts)

    assert page.url == payment.way_back
    payment.becomes("processing")
    page.visit(payment.link)
    page.see("Please do not pay a second time")
    with override_settings(TESTBANK_URL=bank.url):
        sweep_after(3600)
    assert_not_paid(acme, payment, "do_not_honor")
    page.reload()
    page.see(FAILED)


# --- Installments -----------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_payer_sees_amount_count_and_parts_before_confirming(
    open_page: OpenPage, acme: Merchant, theme: str, width: int
) -> None:
    agree(acme.row, plan(3, 500, program="bonus"))
    page = open_page(theme=theme, width=width)
    payment = acme.charge(BONUS, amount=12_001, installments=3)

    page.visit(payment.link)
    shown_by_us = page.read_out()
    page.click(CONTINUE_TO_BANK)
    page.see(ASKED)
    shown_by_the_bank = page.read_out()
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=True)

    for shown in (shown_by_us, shown_by_the_bank):
        assert "₺126.01" in shown
        # Spaces that do not break, but for those beside the plus.
        assert "3: ₺42.01 + 2 × ₺42.00" in shown.replace("\xa0", " ")
    assert (book(), acme.pending()) == ([("authorized", 12_601)], 12_001)
    assert payment.becomes("succeeded")["amount_charged"] == 12_601


# --- Every look -------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_on_the_way_stands_any_look(
    open_page: OpenPage, web: WebProcess, bank: WebProcess, shop: str, theme: str, width: int
) -> None:
    page = open_page(theme=theme, width=width)
    page.hold("answer.js")  # Or nobody could look at the bank's last page.
    merchant = Merchant(web.url, shop, LONG_NAME)
    payment = merchant.charge()

    go_to_bank(page, payment)
    page.submit()
    page.see("did not understand what you pressed", status=400)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=False)
    page.visit(payment.link)
    page.see(APPROVED)
    page.visit(f"{bank.url}/acs/3ds_nobody", status=404)
    page.visit("/3ds/att_x.y/return", status=405)

    assert_paid_once(merchant, payment)


def test_every_page_on_the_way_stands_a_phone_without_scripts(
    open_page: OpenPage, acme: Merchant
) -> None:
    page, payment = open_page(width=390, theme="dark", scripts=False), acme.charge()

    approve(page, payment, scripts=False)

    assert_paid_once(acme, payment)


def test_the_way_is_gone_by_keyboard_alone(page: Page, acme: Merchant) -> None:
    payment = acme.charge()

    page.visit(payment.link)
    for seen in (ASKED, AT_THE_SHOP):
        page.press("Tab")
        ring = "getComputedStyle(document.activeElement).outline"
        assert page.evaluate(ring).endswith("solid 3px")
        page.press("Enter")
        page.see(seen)

    assert_paid_once(acme, payment)


def test_the_bank_reads_out_what_each_button_does(page: Page, acme: Merchant) -> None:
    go_to_bank(page, acme.charge())

    told = page.evaluate("""[...document.querySelectorAll("button")].map(button =>
        [button.innerText, document.getElementById(button.getAttribute("aria-describedby"))
            .innerText.split(".")[0]])""")

    assert told == [
        ["Approve", "It is you"],
        ["Reject", "It is not you"],
        ["Don't answer", "It is you, but the bank falls silent"],
        ["Cancel", "You give up"],
    ]
    assert "Visa ending in 4242" in page.read_out()
