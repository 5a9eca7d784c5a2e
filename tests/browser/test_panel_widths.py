"""No box of the panel is wider than its frame, from a phone to a wide screen.

Names, texts and amounts are as long as they may be.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core import clock, ids
from merchants.models import Merchant
from payments.customers.models import Customer
from payments.disputes.models import Dispute
from payments.intents.states import PaymentStatus
from payments.refunds.models import Refund
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, signed_in
from tests.stage.factories import AttemptFactory, PaymentFactory, open_merchant, shown_card
from tests.stage.lengths import length, tried
from tests.stage.panel_pages import PARTS, addresses
from tests.stage.teams import person

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# Around each border of a rule, and between them.
WIDTHS = (390, 575, 576, 767, 768, 900, 991, 992, 1099, 1100, 1280, 1440)
LISTS = (
    "overview",
    "payments",
    "refunds",
    "disputes",
    "payouts",
    "topups",
    "payment_pages",
    "customers",
)
MOST = 999_999_999_999
LONG = "Uzunçarşılıoğlu" * 13
REPLY = f"{'elif.nur.yilmaz.karaosmanoglu' * 2}@subdomain.of.a.very.long.example"


@pytest.fixture
def acme(settings: Any) -> Merchant:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    Merchant.objects.filter(pk=merchant.pk).update(name=LONG[:190])
    person(EMAIL, (merchant, "owner"))
    Customer.objects.create(
        id=ids.new("cus"), merchant=merchant, email=REPLY, email_key=REPLY, name=LONG,
        description=LONG, created_at=clock.now(),
    )  # fmt: skip
    for status in PaymentStatus.values:
        _large_payment(merchant, status)
    return merchant


def _large_payment(merchant: Merchant, status: str) -> None:
    """Make a payment of the largest amount; of a charged one a refund and a dispute too."""
    is_charged = status == PaymentStatus.SUCCEEDED
    money = dict.fromkeys(("authorized_minor", "captured_minor"), MOST if is_charged else 0)
    row = PaymentFactory(
        merchant=merchant, status=status, amount=MOST, description=LONG,
        billing_details={"name": LONG, "email": REPLY},
        last_payment_error={
            "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds",
            "reason": None, "message": "Declined.", "attempt": None,
            "network_decline_code": None, "advice_code": None,
        },
        refunded_minor=MOST // 3 if is_charged else 0, **money,
    )  # fmt: skip
    row.card = shown_card(row.sealed_card) | {"brand": "amex"}
    row.save(update_fields=["card"])
    if is_charged:
        now = clock.now()
        attempt = AttemptFactory(
            intent=row, status="succeeded", amount=MOST, captured_minor=MOST, captured_at=now,
            closed_at=now, due_at=None, card_fingerprint="ab" * 32,
        )  # fmt: skip
        common = {"merchant": merchant, "intent": row, "attempt": attempt, "currency": "try"}
        Refund.objects.create(
            id=ids.new("re"), amount=MOST // 3, status="pending", method="refund",
            pending_reason="insufficient_funds", created_at=now, asked_at=now, due_at=now,
            **common,
        )  # fmt: skip
        Dispute.objects.create(
            id=ids.new("dp"), bank_reference=ids.new("dp"), amount=MOST // 3,
            status="warning_needs_response", reason="credit_not_processed",
            evidence_due_by=now + timedelta(days=1), created_at=now, **common,
        )  # fmt: skip


@pytest.mark.planted
def test_a_planted_wide_box_is_found(acme: Merchant, open_page: Callable[..., Page]) -> None:
    page = signed_in(open_page, "en")
    page.note_wide_boxes(390)
    before = page.take_findings()
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend',"
        " '<div class=planted><table><td class=nowrap>' + 'x'.repeat(200) + '</table></div>')"
    )

    page.note_wide_boxes(390)

    assert before == ""
    assert "planted" in page.take_findings()


@pytest.mark.proof(part="looks")
@pytest.mark.parametrize("language", ["en", "tr"])
def test_no_box_is_wider_than_its_frame(
    acme: Merchant, open_page: Callable[..., Page], language: str
) -> None:
    page = signed_in(open_page, language)
    every = {name: url for name, url in addresses(acme).items() if name not in PARTS}
    dealt = [*LISTS][["en", "tr"].index(language) :: 2]
    pages = length(short={name: every[name] for name in dealt}, full=every)

    for url in pages.values():
        page.visit(url)
        page.note_wide_boxes(*WIDTHS)
        for width in (390, 1280):
            page.resize(width)
            page.keep_picture(f"wide-{url.rpartition('/')[2]}-{language}-{width}")
    tried(len(pages) * len(WIDTHS), "pages by width")
