"""Balance, payouts and top-ups as a person uses them, in both languages, themes and widths."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from core import clock
from ledger.models import Run
from merchants import payout_schedules
from merchants.models import Merchant
from payouts import cancellations, creation, render, steps
from payouts.models import Payout
from payouts.states import PayoutStatus
from payouts.topups import creation as topups
from tests.browser.looks import OPPOSITE, in_opposite_looks, share
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, signed_in
from tests.stage.acts import owe
from tests.stage.book_keeping import Till
from tests.stage.factories import open_merchant
from tests.stage.lengths import tried
from tests.stage.panel_pages import address, address_of
from tests.stage.teams import person
from tests.stage.transfers import enrich

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

WORDS = {
    "en": {
        "pay out": "Pay out", "go on": "Go on", "sure": "Pay out ₺12.50", "amount": "Amount",
        "made": "was made", "cancel": "Cancel payout", "canceled": "The payout was canceled.",
        "top up": "Top up", "to do": "What to do",
        "far": "99999.00", "more": "This is more than is available.", "some": "12.50",
    },
    "tr": {
        "pay out": "Hesaba aktar", "go on": "Devam et", "sure": "₺12,50 aktar",
        "amount": "Tutar", "made": "aktarım yapıldı",
        "cancel": "Hesaba aktarımı iptal et", "canceled": "Hesaba aktarım iptal edildi",
        "top up": "Bakiye yükle", "to do": "Yapılacaklar", "far": "99999,00",
        "more": "Bu, kullanılabilir olandan fazla.", "some": "12,50",
    },
}  # fmt: skip


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    payout_schedules.change(merchant, {"interval": "weekly", "weekly_anchor": "friday"})
    till = Till(merchant)
    till.charge(1_250_000)
    till.charge(300_000, parts=3)
    till.settle()
    enrich(merchant)
    owe(Till(merchant, "usd"), 30_00)
    return merchant


def payout(merchant: Merchant, status: str) -> Payout:
    made = creation.create(merchant, {"amount": 25_000, "currency": "try", "destination": "main"})
    if status == "canceled":
        return cancellations.cancel(merchant, made.id)
    if status in ("paid", "failed"):
        with transaction.atomic():
            made.sent_at = clock.now()
            steps.move(made, PayoutStatus.IN_TRANSIT, render.payout(made))
            if status == "paid":
                steps.pay(made, None, arrived_at=None)
            else:
                steps.fail(made, None)
    return made


@pytest.mark.parametrize(
    ("language", "look"),
    [
        ("en", {"width": 1280, "theme": "light"}),
        ("tr", {"width": 390, "theme": "dark", "scripts": False}),
    ],
)
def test_a_person_pays_out_changes_their_mind_and_tops_up(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words = WORDS[language]
    page = signed_in(open_page, language, **look)

    page.visit(address("balance", acme.id))
    page.click(words["pay out"])
    page.fill(words["amount"], words["far"])
    page.click(words["go on"])
    page.see(words["more"], status=400)
    page.fill(words["amount"], words["some"])
    page.click(words["go on"])
    page.click(words["sure"])
    page.see(words["made"])
    page.click(words["cancel"])
    page.click(words["cancel"])
    page.see(words["canceled"])
    page.visit(address("create_topup", acme.id))
    page.fill(words["amount"], words["some"])
    page.click(words["top up"])
    page.see(words["to do"])


@in_opposite_looks
def test_money_of_every_kind_is_whole_in_every_look(
    acme: Merchant, open_page: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    made = {status: payout(acme, status) for status in ("pending", "paid", "failed", "canceled")}
    waiting = topups.create(acme, {"amount": 50_000, "currency": "try", "source": "test_never"})
    shown = {
        "balance": address("balance", acme.id),
        "movements": address("movements", acme.id),
        "statements": address("statements", acme.id),
        "statement": address_of("statement", acme),
        "payouts": address("payouts", acme.id),
        **{f"payout {status}": address("payout", acme.id, row.id) for status, row in made.items()},
        "cancel_payout": address("cancel_payout", acme.id, made["pending"].id),
        "create_payout": address("create_payout", acme.id),
        "topups": address("topups", acme.id),
        "topup": address("topup", acme.id, waiting.id),
        "create_topup": address("create_topup", acme.id),
        "settlement": address("settlement", acme.id, Run.objects.filter(merchant=acme)[0].pk),
    }
    shown = share(shown, language, theme, width, of=OPPOSITE)
    page = signed_in(open_page, language, width=width, theme=theme)

    for name, url in shown.items():
        page.visit(url)
        assert page.evaluate("document.documentElement.dataset.bsTheme") == theme
        page.keep_picture(f"full {name}-{language}-{theme}-{width}")
    tried(len(shown), "pages")
