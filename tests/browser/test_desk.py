"""The operators' desk, walked: BINs imported and taken back, a limit raised, a card blocked."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from acquirers.models import Terminal
from merchants import accounts, operators
from merchants.models import AuditEntry, User
from merchants.models import Merchant as Shop
from payments.installments.bin_files import COLUMNS
from payments.installments.models import BinImport
from payments.intents.models import PaymentIntent
from payments.risk.models import ListEntry
from tests.browser.page import Page
from tests.browser.sandbox import Merchant

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
WITH_BANK = True

EMAIL, PASSWORD = "operator@example.com", "a long enough password"
HEADER = ",".join(COLUMNS)
GOOD = "460346,visa,credit,TR,Test Bank,bonus,false,false"
BAD = "46034,visa,credit,TR,Test Bank,bonus,false,false"
WHY = "Why, in your words"
CLERK = "clerk@pay.example"


@pytest.fixture
def operator(settings: Any) -> User:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    return User.objects.create_superuser(EMAIL, PASSWORD)


def sign_in(page: Page) -> None:
    page.visit("/admin/desk/")
    page.fill("Email", EMAIL)
    page.fill("Password", PASSWORD)
    page.click("Sign in")
    page.see("All merchants are searched")
    # The first act would ask for it.
    page.visit("/account/reauthenticate?next=/admin/desk/")
    page.fill("Password", PASSWORD)
    page.click("Confirm")
    page.see("All merchants are searched")


def upload(page: Page, *lines: str) -> None:
    page.give_file("CSV file", "bins.csv", "\n".join([HEADER, *lines, ""]).encode())
    page.fill(WHY, "The bank's new table.")
    page.click("Import")


def address(name: str, *arguments: Any) -> str:
    return reverse(f"admin:{name}", args=arguments)


def test_bins_are_imported_and_taken_back(page: Page, operator: User) -> None:
    sign_in(page)
    page.click("BINs")
    page.see("Nothing was imported yet")

    page.click("Import BINs")
    upload(page, GOOD, BAD)
    page.see("1 bad line or value", status=400)
    page.see("must have 6 to 8 digits", status=400)
    assert BinImport.objects.count() == 0

    upload(page, GOOD)
    page.see("is active: 1 prefixes")
    page.click("Import BINs")
    upload(page, GOOD, GOOD.replace("460346", "460347"))
    page.see("is active: 2 prefixes")

    first = BinImport.objects.order_by("pk").first()
    page.click(f"Go back to version {first.pk}")
    page.fill(WHY, "It was the wrong file.")
    page.click("Go back")
    page.see("is active again")
    assert BinImport.objects.get(is_active=True) == first


def test_a_limit_is_raised(page: Page, operator: User, acme: Merchant) -> None:
    sign_in(page)
    page.click("Merchants")
    page.click("Acme Store")
    page.see("Open work")
    page.click("Terms")
    page.see("Balance below zero")

    page.click("Change limits in TRY")
    page.fill("Most per payment", "900000")
    page.click("Show the change")
    page.see("this will change")
    assert Shop.objects.get().non_secure_limits.get(currency="try").per_payment == 500_000
    page.fill(WHY, "They asked, and trade well.")
    page.click("Change limits")

    page.see("Change limits: done.")
    page.click("Terms")
    page.see("₺9,000.00")
    page.click("At one look")
    page.click("Its audit log")
    page.see("They asked, and trade well.")


def test_a_card_is_blocked(page: Page, operator: User, acme: Merchant) -> None:
    payment = acme.charge()
    sign_in(page)
    page.fill("Id, acquirer's reference, e-mail or request id", payment.id)
    page.click("Find")
    page.see("Payment intent")

    page.click("Lists")
    page.click("Add an entry")
    page.choose("Kind", "Card, by a payment")
    page.fill("Value", payment.id)
    page.fill(WHY, "The bank says it is stolen.")
    page.click("Add entry")

    page.see("424242******4242")
    assert ListEntry.objects.get().list == "block"
    assert AuditEntry.objects.get(action="list_entry.added").actor_name == EMAIL


# Each page of the desk.
def pages_of(payment_id: str) -> dict[str, tuple[str, int]]:
    shop, person = Shop.objects.get(), User.objects.get(email=EMAIL)
    shown = {
        "search": address("desk_search") + f"?q={shop.email}",
        "review": address("desk_review"),
        "judge": address("desk_review_judge", payment_id),
        "merchants": address("desk_merchants"),
        "merchant": address("desk_merchant", shop.id),
        "terms": address("desk_merchant_terms", shop.id),
        "access": address("desk_merchant_access", shop.id),
        "open": address("desk_merchant_open"),
        "owner": address("desk_merchant_owner", shop.id),
        "limits": address("desk_merchant_change", shop.id, "limits"),
        "plans": address("desk_merchant_change", shop.id, "plans"),
        "status": address("desk_merchant_change", shop.id, "status"),
        "prices": address("desk_merchant_change", shop.id, "prices"),
        "schedule": address("desk_merchant_change", shop.id, "schedule"),
        "add_account": address("desk_merchant_change", shop.id, "add_account"),
        "payout": address("payouts_payout_make"),
        "holiday": address("ledger_holidaychange_set"),
        "bins": address("desk_bins"),
        "import": address("desk_bins_import"),
        "terminals": address("desk_terminals"),
        "terminal": address("desk_terminal", Terminal.objects.get(name="sandbox").pk),
        "terminal_add": address("desk_terminal_add") + "?kind=sandbox",
        "route_add": address("desk_route_add"),
        "lists": address("desk_lists"),
        "list_add": address("desk_list_add"),
        "people": address("desk_people"),
        "person": address("desk_person", person.pk),
        "unlock": address("desk_person_unlock", person.pk),
        "operators": address("desk_operators"),
        "invite": address("desk_operator_invite"),
        "groups": address("desk_person_groups", User.objects.get(email=CLERK).pk),
        "switch_off": address("desk_person_switch_off", User.objects.get(email=CLERK).pk),
        "audit": address("desk_audit"),
        "verify": address("desk_audit_verify"),
        "entry": address("desk_audit_entry", AuditEntry.objects.latest("id").id),
    }
    refused = {
        "card": (address("desk_search") + "?q=4242424242424242", 400),
        "missing": (address("desk_merchant", "mer_unknown"), 404),
    }
    return {**{name: (url, 200) for name, url in shown.items()}, **refused}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_in_both_themes_and_widths(
    open_page: Any, operator: User, acme: Merchant, width: int, theme: str
) -> None:
    rule = {"rule": "amount", "currency": "try", "deed": "review", "threshold": 100}
    accounts.change(Shop.objects.get(), {"risk_rules": [rule]}, "They sell jewels.")
    payment = acme.charge()
    assert PaymentIntent.objects.get(id=payment.id).fraud["status"] == "review"
    clerk = User.objects.create_user(CLERK, is_staff=True)
    clerk.groups.set(Group.objects.filter(name__in=["people", "risk"]))
    operators.invite(operator, "new@pay.example", ["money"], invitation_id="opi_1", reason="x")
    page = open_page(width=width, theme=theme)
    sign_in(page)

    for name, (url, status) in pages_of(payment.id).items():
        page.visit(url, status=status)
        page.keep_picture(f"{name}-{width}-{theme}")
