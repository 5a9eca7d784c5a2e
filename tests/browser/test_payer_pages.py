"""Payers' pages and error pages in Chromium: under the policy, on a phone, in the dark."""

from collections.abc import Callable
from itertools import cycle

import pytest

from tests.browser.page import Page
from tests.browser.payer_pages import STANDINGS
from tests.browser.shop import moved

APPLICATION = "tests.browser.payer_pages_wsgi"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PAGES = {
    "/pages/handoff/usual": 200,
    "/pages/handoff/longest": 200,
    "/pages/handoff/unbroken": 200,
    "/pages/closed/approved/usual": 200,
    "/pages/closed/waiting/longest": 200,
    "/pages/closed/failed/unbroken": 200,
    "/pages/busy/usual": 503,
    "/pages/busy/longest": 503,
    "/pages/closed/late/usual": 200,
    **{
        f"/pages/checkout/{name}/{payment}": status
        for (name, status), payment in zip(
            STANDINGS.items(), cycle(["usual", "longest", "unbroken"]), strict=False
        )
    },
    "/pages/elsewhere": 403,
    "/pages/unknown": 404,
    "/pages/refused": 400,
    "/": 200,
    "/docs/errors": 200,
    **{f"/pages/fail/{status}": status for status in (400, 403, 404, 409, 500, 503)},
}
CONTINUE = "Continue to your bank"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_stands_any_look(open_page: Callable[..., Page], theme: str, width: int) -> None:
    page = open_page(theme=theme, width=width)

    for address, status in PAGES.items():
        page.visit(address, status=status)


def test_every_page_stands_without_scripts(open_page: Callable[..., Page]) -> None:
    page = open_page(scripts=False)

    for address, status in PAGES.items():
        page.visit(address, status=status)


@pytest.mark.parametrize("scripts", [True, False])
def test_the_form_leads_to_the_bank_and_on_to_the_shop(
    open_page: Callable[..., Page], shop: str, scripts: bool
) -> None:
    page = open_page(scripts=scripts)

    page.visit(f"/pages/handoff/usual?back={shop}")
    page.click(CONTINUE)
    page.see("Welcome back")

    assert page.url == shop


def test_the_form_with_the_card_sends_itself_to_the_gate(page: Page, shop: str) -> None:
    page.visit("/pages/handoff/usual")
    page.evaluate(f"() => {{ location.assign('/pages/gate/usual?back={shop}') }}")
    page.see("Welcome back")

    assert page.url == shop


@pytest.mark.parametrize("scripts", [True, False])
def test_the_form_with_the_card_has_a_button_that_stands_any_look(
    open_page: Callable[..., Page], shop: str, scripts: bool
) -> None:
    page = open_page(scripts=scripts, width=390, theme="dark")
    page.hold("payer_gate.js")

    page.visit(f"/pages/gate/longest?back={shop}")
    page.click("Go to your bank")
    page.see("Welcome back")

    assert page.url == shop


@pytest.mark.parametrize("scripts", [True, False])
def test_a_payer_without_a_slot_finishes_by_the_button(
    open_page: Callable[..., Page], shop: str, scripts: bool
) -> None:
    page = open_page(scripts=scripts)

    page.visit(f"/pages/busy/usual?back={shop}", status=503)
    page.click("Finish the payment")
    page.see("Welcome back")

    assert page.url == shop


def test_a_payer_without_a_slot_arrives_at_a_shop_that_redirects(page: Page, shop: str) -> None:
    page.visit(f"/pages/busy/usual?back={moved(shop)}", status=503)
    page.click("Finish the payment")
    page.see("Welcome back")

    assert page.url == shop.replace("127.0.0.1", "localhost")


def test_the_browser_stops_a_chain_that_ends_where_the_policy_does_not_allow(
    page: Page, shop: str
) -> None:
    page.visit(f"/pages/handoff/usual?back={shop}&allowed=https://acme.example/")
    page.submit()

    page.wait_for_finding("form-action refuses http://localhost:")
    assert "/pages/handoff/" in page.url


def test_the_button_is_reached_by_keyboard_and_shows_it(page: Page) -> None:
    page.visit("/pages/handoff/usual")
    page.press("Tab")

    name, ring = page.evaluate("""() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return [document.activeElement.innerText, `${outlineStyle} ${outlineWidth}`];
    }""")

    assert (name, ring) == (CONTINUE, "solid 3px")


def test_nothing_moves_for_people_who_want_it_still(open_page: Callable[..., Page]) -> None:
    page = open_page(reduced_motion="reduce")

    page.visit("/pages/handoff/usual")

    moving = "getComputedStyle(document.querySelector('button')).transitionDuration"
    assert set(page.evaluate(moving).split(", ")) == {"0s"}


def test_the_card_is_read_out_in_words(page: Page) -> None:
    page.visit("/pages/handoff/usual")

    assert "Visa ending in 4242" in page.read_out()


def test_the_way_back_to_the_shop_is_a_link(page: Page, shop: str) -> None:
    page.visit(f"/pages/closed/approved/usual?back={shop}")
    page.click("Back to the shop")
    page.see("Welcome back")


def test_a_form_without_its_token_is_answered_by_a_page(page: Page) -> None:
    page.visit("/faults/form-without-token")
    page.click("Send")

    page.see("This form has expired", status=403)
