"""Cases decided at the desk: one of card …0058 as charged, another as not charged."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as service

from cases.models import Case
from core import clock
from merchants.models import AuditEntry, User
from payments.charging import tasks
from tests.browser.page import Page
from tests.browser.sandbox import Merchant
from tests.stage.undecided import NEVER_KNOWN, REASON, dead_capture

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),  # The bank is silent for seconds, again and again.
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
WITH_BANK = True

EMAIL, PASSWORD = "operator@example.com", "a long enough password"
CHARGED, NOT_CHARGED = "The bank has charged the card", "The bank has not charged the card"


@pytest.fixture(autouse=True)
def operator(settings: Any) -> User:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    return User.objects.create_superuser(EMAIL, PASSWORD)


@pytest.fixture
def cases(acme: Merchant) -> list[Case]:
    """Two payments that the bank has not answered for an hour."""
    paid = [acme.pay(NEVER_KNOWN)["id"] for _ in range(2)]
    clock.advance(timedelta(seconds=service.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return [Case.objects.get(intent=one) for one in paid]


def sign_in(page: Page, email: str = EMAIL) -> None:
    page.visit("/admin/desk/cases/")
    page.fill("Email", email)
    page.fill("Password", PASSWORD)
    page.click("Sign in")
    page.see("Cases close by themselves")
    page.visit("/account/reauthenticate?next=/admin/desk/cases/")
    page.fill("Password", PASSWORD)
    page.click("Confirm")
    page.see("Cases close by themselves")


def decide(page: Page, case: Case, decision: str) -> None:
    page.visit("/admin/desk/cases/")
    page.click(case.intent_id)
    page.see("The bank does not say")
    page.see("pending: not decided")
    page.click("Decide")
    page.see("The bank is asked once more")
    page.check(decision)
    page.fill("Reason", REASON)
    page.click("Decide")
    page.see(f"Decided: {decision}")


@pytest.fixture
def unanswered_capture(acme: Merchant) -> Case:
    """A capture whose process died before the bank was asked, an hour ago."""
    return dead_capture(acme)


def test_a_capture_is_decided_by_its_own_words(
    page: Page, unanswered_capture: Case, acme: Merchant
) -> None:
    sign_in(page)
    page.click(unanswered_capture.intent_id)
    page.see("of the capture of ₺125.00")
    page.click("Decide")
    page.see("the payment awaits its capture again")
    page.check(CHARGED)
    page.fill("Reason", REASON)
    page.click("Decide")

    page.see(f"Decided: {CHARGED}")
    page.see("payment_intent.succeeded")
    assert acme.pending() == 12500
    page.visit("/admin/desk/cases/?status=resolved")
    page.see(unanswered_capture.intent_id)


def test_one_is_decided_as_charged_and_another_as_not_charged(
    page: Page, cases: list[Case], acme: Merchant
) -> None:
    sign_in(page)

    decide(page, cases[0], CHARGED)
    page.see("payment_intent.succeeded")
    page.see("operators.decide_case")
    assert "charge" in page.text
    assert acme.pending() == 12500

    decide(page, cases[1], NOT_CHARGED)
    page.see("payment_intent.payment_failed")
    page.see("Nothing was booked.")
    assert acme.pending() == 12500

    assert [
        (entry.after["decision"], entry.actor_name, entry.reason)
        for entry in AuditEntry.objects.filter(action="case.decided").order_by("sequence")
    ] == [("charged", EMAIL, REASON), ("not_charged", EMAIL, REASON)]
    page.click("Audit log")
    page.see(REASON)


def test_words_that_were_typed_stay_when_somebody_has_decided(
    page: Page, open_page: Any, cases: list[Case]
) -> None:
    other = open_page()
    for one in (page, other):
        sign_in(one)
        one.visit(f"/admin/desk/cases/{cases[0].id}/decide/")
    other.check(CHARGED)
    other.fill("Reason", REASON)
    other.click("Decide")
    other.see("Decided:")

    page.check(NOT_CHARGED)
    page.fill("Reason", "Mr Kaya says otherwise.")
    page.click("Decide")

    page.see(f"{EMAIL} has decided meanwhile", status=409)
    page.see("Mr Kaya says otherwise.", status=409)


def test_two_operators_at_one_row_of_work(
    page: Page, open_page: Any, cases: list[Case], operator: User
) -> None:
    other = open_page()
    colleague = User.objects.create_superuser("colleague@example.com", PASSWORD)
    for one, person in ((page, operator), (other, colleague)):
        sign_in(one, person.email)
        one.visit("/admin/")

    page.click(f"Take on: The bank does not say: {cases[0].intent_id}")
    page.see("You have it")
    other.click(f"Take on: The bank does not say: {cases[0].intent_id}")

    other.see(f"{EMAIL} has it", status=409)
    other.click("Work")
    other.see(EMAIL)
    page.click("Mine")
    page.click(f"Give back: The bank does not say: {cases[0].intent_id}")
    page.see("Nobody has it now")
    assert not Case.objects.filter(owner__isnull=False).exists()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_in_both_themes_and_widths(
    open_page: Any, cases: list[Case], width: int, theme: str
) -> None:
    page, address = open_page(width=width, theme=theme), f"/admin/desk/cases/{cases[0].id}/"
    sign_in(page)
    work = f"/admin/desk/work/case/{cases[1].id}/take/"
    shown = {"work": "/admin/", "take": work, "list": "/admin/desk/cases/",
             "case": address, "decide": f"{address}decide/",
             "note": f"{address}notes/", "owner": f"{address}owner/"}  # fmt: skip

    for name, url in shown.items():
        page.visit(url)
        page.keep_picture(f"cases-{name}-{width}-{theme}")
