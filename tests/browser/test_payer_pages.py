"""Payers' pages and error pages in Chromium: under the policy, on a phone, in the dark."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from tests.browser.looks import in_every_look, share
from tests.browser.page import Page
from tests.browser.payer_pages import STANDINGS
from tests.browser.shop import moved
from tests.stage.lengths import length, tried

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
# The pages of a checkout session, by their addresses.
OF_CHECKOUT = {address: address.split("/")[3] for address in PAGES if "/checkout/" in address}
# Elements that reach beyond the window, by their first letters.
SIDEWAYS = """() => [...document.querySelectorAll("body *")].filter(one => {
    const box = one.getBoundingClientRect();
    return !one.closest(".unseen, svg, option") && box.width > 1
        && (box.right > innerWidth + 1 || box.left < -1);
}).map(one => one.outerHTML.slice(0, 120))"""
CONTINUE = "Continue to your bank"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_stands_any_look(open_page: Callable[..., Page], theme: str, width: int) -> None:
    page = open_page(theme=theme, width=width)

    for address, status in PAGES.items():
        page.visit(address, status=status)


@in_every_look
def test_each_payment_page_stands_in_each_look(
    open_page: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    page = open_page(locale=language, theme=theme, width=width)
    shown = share(OF_CHECKOUT, language, theme, width)

    for address, name in shown.items():
        page.visit(address, status=PAGES[address])
        assert page.evaluate("document.documentElement.lang") == language
        page.keep_picture(f"pay-{name}-{language}-{theme}-{width}")
    tried(len(shown), "payment pages")


@pytest.mark.proof(part="looks")
@pytest.mark.parametrize("look", [
    {"width": 320}, {"width": 320, "theme": "dark", "locale": "tr"}, {"forced_colors": "active"},
    {"width": 1280, "letters": "200%"}, {"width": 390, "letters": "200%", "locale": "tr"},
], ids=str)  # fmt: skip
def test_each_payment_page_stands_narrow_in_forced_colours_and_in_large_letters(
    open_page: Callable[..., Page], look: dict[str, Any]
) -> None:
    own = dict(look)
    letters = own.pop("letters", "100%")
    page = open_page(**own)
    addresses = length(short=[*OF_CHECKOUT][:3], full=[*OF_CHECKOUT])

    for address in addresses:
        page.visit(address, status=PAGES[address])
        page.evaluate(f"() => {{ document.documentElement.style.fontSize = '{letters}' }}")
        assert page.evaluate(SIDEWAYS) == [], address
        page.keep_picture("-".join(["pay", OF_CHECKOUT[address], *map(str, look.values())]))
    tried(len(addresses), f"payment pages with {look}")


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
