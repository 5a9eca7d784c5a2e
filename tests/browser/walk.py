"""A payer's way through 3-D Secure: the steps that several tests take, and how it ended."""

from testbank.models import Authorization
from tests.browser.page import Page
from tests.browser.sandbox import Merchant, Payment

CONTINUE_TO_BANK, CONTINUE, BACK = "Continue to your bank", "Continue", "Back to the shop"
ASKED, CONFIRMED, REFUSED = "Confirm your payment", "Payment confirmed", "Payment not confirmed"
APPROVED, FAILED = "This payment is approved", "This payment did not go through"
AT_THE_SHOP = "Welcome back"


def go_to_bank(page: Page, payment: Payment) -> None:
    """Follow the shop's link, and go on to the bank."""
    page.visit(payment.link)
    page.click(CONTINUE_TO_BANK)
    page.see(ASKED)


def return_from(page: Page, answer: str, *, scripts: bool) -> None:
    """Come back to the shop: by the bank's script, or by its button."""
    if not scripts:
        page.see(answer)
        page.click(CONTINUE)
    page.see(AT_THE_SHOP)


def approve(page: Page, payment: Payment, *, scripts: bool) -> None:
    go_to_bank(page, payment)
    page.click("Approve")
    return_from(page, CONFIRMED, scripts=scripts)


def book() -> list[tuple[str, int]]:
    """Return what the bank wrote down: the state of each authorisation, and the money taken."""
    return list(Authorization.objects.values_list("state", "captured_amount"))


def assert_paid_once(acme: Merchant, payment: Payment) -> None:
    payment.becomes("succeeded")
    assert payment.told() == ["created", "requires_action", "succeeded"]
    assert book() == [("authorized", 12500)]
    assert acme.pending() == 12500


def assert_not_paid(acme: Merchant, payment: Payment, reason: str) -> None:
    shown = payment.becomes("requires_payment_method")
    assert shown["last_payment_error"]["reason"] == reason
    assert payment.told()[-1] == "payment_failed"
    assert sum(captured for _state, captured in book()) == acme.pending() == 0
