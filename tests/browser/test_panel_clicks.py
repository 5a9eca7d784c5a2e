"""A newcomer's errands from the overview, with the clicks that each takes; typing is none."""

from collections.abc import Callable

import pytest

from merchants.models import Invitation
from tests.browser.page import Page
from tests.browser.sandbox import Merchant as Shop
from tests.browser.test_panel import prove, signed_in
from tests.browser.test_panel_walks import a_closed_month, owner  # noqa: F401 - A fixture.

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
WITH_BANK = True


def taken(page: Page, errand: str) -> int:
    """Return how many clicks an errand took, and begin to count again."""
    clicks, page.clicks = page.clicks, 0
    print(f"{errand}: {clicks} clicks")  # noqa: T201
    return clicks


def test_errands_take_few_clicks(
    owner: Shop,  # noqa: F811 - The fixture.
    open_page: Callable[..., Page],
) -> None:
    made = a_closed_month(owner.row)
    paid = owner.pay(email="zeynep@x.example", description="Order 5210", amount=81322)["id"]
    owner.pay("5555555555554444", amount=81322)
    page = signed_in(open_page, "en")
    prove(page, "en")
    taken(page, "to sign in")

    page.click("Statements")
    page.click(f"{made.month:%B %Y}")
    page.see("Closing balance")
    assert taken(page, "last month's statement") <= 3

    page.click("Overview")
    taken(page, "back")
    page.click("Payments")
    page.unfold("More filters")
    page.fill("Last four digits", "4242")
    page.fill("Amount from", "813.22")
    page.click("Filter")
    page.wait_for_address("**last4=4242**")
    page.click("₺813.22")
    page.see("Order 5210")
    assert page.url.endswith(paid)
    assert taken(page, "a payment by last four digits and amount") <= 4

    page.click("Refund")
    page.check_value("part")
    page.fill("Amount (TRY)", "406.61")
    page.click("Go on")
    page.click("Refund ₺406.61")
    page.see("₺406.61 was given back.")
    assert taken(page, "half back, from the payment") <= 4

    page.click("Team")
    page.click("Invite")
    page.fill("E-mail address", "books@acme.example")
    page.check_value("accountant")
    page.click("Invite")
    page.see("The invitation is on its way.")
    assert taken(page, "access for an accountant") <= 4

    assert owner.get(f"/v1/payment_intents/{paid}")["refunded_minor"] == 40661
    assert Invitation.objects.get().role == "accountant"
