"""The documentation in Chromium: pages in each look under the policy, the search, the copies."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from tests.browser.page import Page
from tests.stage.built_site import addresses, built_site
from tests.stage.lengths import IS_FULL, tried
from tests.stage.web_process import WebProcess

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS = list(product(("light", "dark"), (1280, 390)))
# The gate opens so many pages in each look, and `./dev prove looks` all of them.
SHARE = 6
FOUND = {
    "refund": "Refunds",
    "resource_missing": "resource_missing",
    "payment_intent.succeeded": "payment_intent.succeeded",
    "amount_refundable": "amount_refundable",
    "insufficient_funds": "insufficient_funds",
    "Idempotency-Key": "Repeating a request safely",
    "WEBHOOK_DEV_HOSTS": "WEBHOOK_DEV_HOSTS",
    "expand": "Expansion",
    "payout.paid": "payout.paid",
    "installments": "Installments",
}
NOT_FOUND = ["<script>zzqx(1)</script>", "ğüşiöçıİ", "x" * 6000, "%00zzqx", '"; zzqx', "🙂🙂"]
# Each result that is a page's text has a part of it, which comes later.
HAVE_PARTS = """new Promise(done => {
    const look = () => [...document.querySelectorAll("li.kind-text")].every(
        one => one.querySelector(".context")) ? done() : requestAnimationFrame(look);
    look();
})"""


@pytest.fixture(scope="module")
def web(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """The service with the built site."""
    with django_db_blocker.unblock():
        log = tmp_path_factory.mktemp("web") / "log"
        web = WebProcess(log, "config.wsgi", DOCS_ROOT=str(built_site()))
    yield web
    web.stop()


@pytest.mark.proof(part="looks")
@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_stands_any_look(open_page: Callable[..., Page], theme: str, width: int) -> None:
    page = open_page(theme=theme, width=width)
    every = addresses(built_site())
    step = 1 if IS_FULL else len(every) // SHARE
    first = 0 if IS_FULL else LOOKS.index((theme, width)) * step // len(LOOKS)

    for address in every[first::step]:
        page.visit(f"/docs/{address}")

    tried(len(every[first::step]), "pages of the documentation")


def test_pages_can_be_read_without_scripts(open_page: Callable[..., Page]) -> None:
    page = open_page(scripts=False, width=390)

    page.visit("/docs/how-to/refunds")
    page.click_label("Menu")
    page.click("Topups")
    page.see("A topup sends money to your balance")


def test_ten_words_are_found(page: Page) -> None:
    for word, expected in FOUND.items():
        page.visit(f"/docs/search?q={word}")
        page.see("Search finished")
        page.evaluate(HAVE_PARTS)
        page.see(expected)

    tried(len(FOUND), "words")


def test_words_that_are_nowhere_find_nothing_and_break_nothing(page: Page) -> None:
    for word in NOT_FOUND:
        page.visit("/docs/")
        page.fill("Search the documentation", word[:1000])
        page.press("Enter")
        page.see("did not match any documents")


def test_a_sample_is_copied(open_page: Callable[..., Page], web: WebProcess) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])

    page.visit("/docs/how-to/refunds")
    page.evaluate("document.querySelector('.copy').click()")
    page.wait_for_text("#copied", "Copied")

    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl http://127.0.0.1:")
    assert copied.endswith("}'")


def test_an_unknown_page_has_a_search(page: Page) -> None:
    page.visit("/docs/how-to/nothing", status=404)
    page.fill("Search the documentation", "refund")
    page.press("Enter")
    page.see("Search finished")
    page.evaluate(HAVE_PARTS)
    page.see("Refunds")
