"""Payers who press twice, go back, load again, begin elsewhere, or cheat: still one payment."""

from collections.abc import Callable

import pytest

from tests.browser.page import Page, click_at_once
from tests.browser.sandbox import Merchant
from tests.browser.walk import (
    APPROVED,
    ASKED,
    AT_THE_SHOP,
    BACK,
    CONFIRMED,
    CONTINUE,
    CONTINUE_TO_BANK,
    FAILED,
    REFUSED,
    approve,
    assert_paid_once,
    go_to_bank,
    return_from,
)
from tests.stage.web_process import WebProcess

WITH_BANK = True
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])
OpenPage = Callable[..., Page]


# --- Twice ------------------------------------------------------------------------------------


def posts(process: WebProcess, mark: str) -> int:
    return sum(mark in line and '"POST"' in line for line in process.log.splitlines())


@with_and_without_scripts
def test_a_payer_who_presses_everything_twice_pays_once(
    open_page: OpenPage, acme: Merchant, web: WebProcess, bank: WebProcess, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    page.hold("answer.js")  # As on a slow line: the payer is quicker.
    before = posts(bank, "/decision"), posts(web, "/return")

    page.visit(payment.link)
    page.double_click(CONTINUE_TO_BANK)
    page.see(ASKED)
    page.double_click("Approve")
    page.see(CONFIRMED)
    page.double_click(CONTINUE)
    page.see(AT_THE_SHOP)

    assert page.url == payment.way_back
    assert_paid_once(acme, payment)
    after = posts(bank, "/decision"), posts(web, "/return")
    told = [now - then for now, then in zip(after, before, strict=True)]
    print(f"arrived: {told[0]} decisions, {told[1]} answers")  # noqa: T201


@with_and_without_scripts
def test_two_tabs_that_press_at_the_same_moment_pay_once(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    tabs, payment = [open_page(scripts=scripts) for _ in range(2)], acme.charge()

    for tab in tabs:
        go_to_bank(tab, payment)
    click_at_once("Approve", *tabs)
    if not scripts:
        for tab in tabs:
            tab.see(CONFIRMED)
        click_at_once(CONTINUE, *tabs)
    for tab in tabs:
        tab.see(AT_THE_SHOP)

    assert [tab.url for tab in tabs] == [payment.way_back] * 2
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_what_was_decided_in_one_tab_is_not_undone_in_another(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    one, other, late = (open_page(scripts=scripts) for _ in range(3))
    payment = acme.charge()
    late.visit(payment.link)
    go_to_bank(other, payment)
    approve(one, payment, scripts=scripts)

    other.click("Reject")
    return_from(other, CONFIRMED, scripts=scripts)
    late.click(CONTINUE_TO_BANK)
    return_from(late, CONFIRMED, scripts=scripts)

    assert other.url == late.url == payment.way_back
    assert_paid_once(acme, payment)


# --- Back, again, elsewhere -------------------------------------------------------------------


@with_and_without_scripts
def test_the_back_button_after_approving_leads_to_the_shop_again(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    approve(page, payment, scripts=scripts)

    page.go_back()
    return_from(page, CONFIRMED, scripts=scripts)

    assert page.url == payment.way_back
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_the_back_button_at_the_bank_leads_to_our_page_and_on_again(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    go_to_bank(page, payment)

    page.go_back()
    page.see("You are being sent to your bank")
    page.click(CONTINUE_TO_BANK)
    page.see(ASKED)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=scripts)

    assert_paid_once(acme, payment)


def test_every_page_before_the_shop_is_there_again_by_the_back_button(
    open_page: OpenPage, acme: Merchant
) -> None:
    page, payment = open_page(scripts=False), acme.charge()
    approve(page, payment, scripts=False)

    # The bank's answer, the bank's question, which shows the answer by now, and our page.
    for seen in (CONFIRMED, CONFIRMED, APPROVED):
        page.go_back()
        page.see(seen)

    page.click(BACK)
    page.see(AT_THE_SHOP)
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_every_page_may_be_loaded_again(open_page: OpenPage, acme: Merchant, scripts: bool) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    page.hold("answer.js")

    page.visit(payment.link)
    page.reload()
    page.click(CONTINUE_TO_BANK)
    page.see(ASKED)
    page.reload()
    page.click("Approve")
    page.see(CONFIRMED)
    page.reload()
    page.click(CONTINUE)
    page.see(AT_THE_SHOP)
    page.reload()

    assert page.url == payment.way_back
    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_the_link_goes_on_in_a_fresh_browser(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    first, fresh = open_page(scripts=scripts), open_page(scripts=scripts)
    payment = acme.charge()
    go_to_bank(first, payment)
    first.close()

    approve(fresh, payment, scripts=scripts)

    assert_paid_once(acme, payment)


@with_and_without_scripts
def test_the_link_says_afterwards_that_nothing_was_paid(
    open_page: OpenPage, acme: Merchant, scripts: bool
) -> None:
    page, payment = open_page(scripts=scripts), acme.charge()
    go_to_bank(page, payment)
    page.click("Reject")
    return_from(page, REFUSED, scripts=scripts)
    told = payment.told()

    page.visit(payment.link)
    assert FAILED in page.text
    page.click(BACK)
    page.see(AT_THE_SHOP)

    assert page.url == payment.way_back
    assert payment.told() == told


# --- Payers who are not honest ----------------------------------------------------------------


def test_an_answer_that_the_payer_changed_is_refused_and_the_true_one_still_counts(
    page: Page, acme: Merchant
) -> None:
    payment = acme.charge()
    page.hold("answer.js")
    go_to_bank(page, payment)
    page.click("Approve")
    page.see(CONFIRMED)

    page.evaluate("document.forms[0].elements.md_status.value += '1'")
    page.click(CONTINUE)
    page.see("This answer is not right", status=400)
    assert payment.read()["status"] == "requires_action"
    page.go_back()
    page.reload()
    page.see(CONFIRMED)
    page.click(CONTINUE)
    page.see(AT_THE_SHOP)

    assert_paid_once(acme, payment)
