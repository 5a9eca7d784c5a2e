"""Days in the panel, walked: a month printed, money given back by keys, a dispute answered."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core import clock, ids
from ledger import checkpoints
from merchants.models import Merchant
from payments.disputes.models import Dispute
from payouts import creation
from payouts.statements import closing
from payouts.statements.models import Statement
from tests.browser.page import Page
from tests.browser.sandbox import Merchant as Shop
from tests.browser.test_panel import EMAIL, WORDS, signed_in
from tests.stage.book_keeping import Till, price
from tests.stage.factories import AttemptFactory, PaymentFactory
from tests.stage.panel_pages import address
from tests.stage.teams import PASSWORD, person
from tests.stage.transfers import enrich

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
WITH_BANK = True

PAPER: dict[str, dict[str, Any]] = {
    "en": {
        "print": "Print", "frame": ("Overview", "Sign out", "Export CSV", "Search"),
        "lines": ("Count", "Opening balance", "Charges", "Payouts", "Closing balance"),
    },
    "tr": {
        "print": "Yazdır", "frame": ("Genel bakış", "Oturumu kapat", "CSV olarak dışa aktar"),
        "lines": ("Adet", "Açılış bakiyesi", "Tahsilatlar", "Kapanış bakiyesi"),
    },
}  # fmt: skip


@pytest.fixture
def owner(acme: Shop, settings: Any) -> Shop:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    person(EMAIL, (acme.row, "owner"))
    return acme


def a_closed_month(merchant: Merchant) -> Statement:
    """Let a month with money of many kinds, and payouts, go by; return its statement."""
    Merchant.objects.filter(pk=merchant.pk).update(name="Uzunçarşılıoğlu Mağazacılık " * 6)
    price(merchant)
    till = Till(merchant)
    charge = till.charge(99_999_999_99, surcharge=1_234_567_89)
    till.refund(charge, 40_00)
    till.dispute(charge, 10_00)
    enrich(merchant, 99_999_999_99)
    for _ in range(5):
        creation.create(merchant, {"amount": 9_999_999_99, "currency": "try"})
    clock.advance(timedelta(days=32))
    checkpoints.advance()
    closing.close_due()
    # From the last day of some months, the next one has gone by too.
    return Statement.objects.earliest("month")


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "dark"}),
        ("tr", {"width": 390, "theme": "light"}),
    ],
)
def test_a_months_statement_is_printed_whole_and_alone(
    owner: Shop, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words, made = PAPER[language], a_closed_month(owner.row)
    page = signed_in(open_page, language, **look)

    page.visit(address("statement", owner.row.id, f"{made.month:%Y-%m}-try"))
    page.evaluate("window.print = () => { window.isPrinted = true; }")
    page.click(words["print"])
    paper, sheets = page.print_out(f"paper-{language}")

    assert page.evaluate("window.isPrinted")
    for said in (*words["lines"], *(one["account"] for one in made.payouts)):
        assert said in paper, said
    for said in (*words["frame"], "sk_sandbox_"):
        assert said not in paper, said
    assert (len(made.payouts), sheets) == (5, 1)
    page.note_wide_boxes(390, 768, 1280)
    page.keep_picture(f"statement-{language}-{look['theme']}-{look['width']}")


def test_half_is_given_back_by_keyboard_alone_on_a_phone(
    owner: Shop, open_page: Callable[..., Page]
) -> None:
    paid = owner.pay(email="zeynep@x.example", description="Sipariş 5210")["id"]
    page = open_page(locale="tr-TR", width=390, theme="dark", reduced_motion="reduce")
    page.visit("/panel/")
    page.tab_to(WORDS["tr"]["email"])
    page.type(EMAIL)
    page.tab_to(WORDS["tr"]["password"])
    page.type(PASSWORD)
    page.press("Enter")
    page.see(WORDS["tr"]["set up"])

    page.press("/")
    page.type(paid)
    page.press("Enter")
    page.see("Sipariş 5210")
    page.tab_to("İade")
    page.press("Enter")
    page.see("Devam et")
    page.tab_to("Kalanın tamamı: ₺125,00")
    page.press("ArrowDown")
    page.tab_to("Tutar (TRY)")
    page.type("62,50")
    page.tab_to("Devam et")
    page.press("Enter")
    page.see("₺62,50 iade edilsin mi?")
    page.keep_picture("keys-refund-sure")
    page.tab_to("₺62,50 iade et")
    page.press("Enter")
    page.see("₺62,50 geri verildi.")

    assert owner.get(f"/v1/payment_intents/{paid}")["refunded_minor"] == 6250


def disputed(merchant: Merchant, *, days: int, amount: int) -> str:
    """Open a dispute that may be answered for so many days; return its id."""
    now = clock.now()
    row = PaymentFactory(merchant=merchant, description=f"Order {days}")
    attempt = AttemptFactory(
        intent=row, status="succeeded", captured_minor=row.captured_minor, captured_at=now,
        closed_at=now, due_at=None, card_fingerprint="ab" * 32,
    )  # fmt: skip
    made = Dispute.objects.create(
        id=ids.new("dp"), merchant=merchant, intent=row, attempt=attempt, amount=amount,
        bank_reference=ids.new("dp"), currency="try", status="needs_response",
        reason="product_not_received", evidence_due_by=now + timedelta(days=days, minutes=5),
        created_at=now - timedelta(days=1),
    )  # fmt: skip
    return str(made.pk)


def test_the_dispute_that_is_due_first_is_found_and_answered(
    owner: Shop, open_page: Callable[..., Page]
) -> None:
    late, first, later = (
        disputed(owner.row, days=days, amount=amount)
        for days, amount in ((9, 90_00), (1, 10_00), (4, 40_00))
    )
    page = signed_in(open_page, "en", theme="dark")

    page.keep_picture("overview-waits-dark")
    page.click("Answer the dispute of ₺10.00")
    page.see("What the bank says")
    assert page.url.rpartition("/")[2] == first
    page.click("Answer")
    page.see("Save as a draft")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.fill("Tracking number", "PTT 1234")
    page.click("Save and look once more")
    page.see("PTT 1234")
    page.click("Submit to the bank")
    page.see("The evidence was submitted.")

    states = {one.pk: one.status for one in Dispute.objects.all()}
    assert states == {first: "under_review", later: "needs_response", late: "needs_response"}
