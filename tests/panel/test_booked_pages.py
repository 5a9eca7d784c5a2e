"""A payment, a refund and a payout say what they did to the balance, and their lines sum."""

import re
from typing import Any

import pytest
from django.test import Client

from core import clock
from ledger import book, paid_out
from ledger.models import Movement
from payouts.models import Payout
from tests.stage.book_keeping import Till, price
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def read(client: Client, acme: ApiClient, name: str, thing: Any) -> str:
    page = client.get(address(name, acme.merchant.id, thing))
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


@pytest.mark.usefixtures("bank")
def test_a_payment_says_its_fee_what_went_back_and_what_is_left(
    owner: Client, acme: ApiClient
) -> None:
    price(acme.merchant)
    payment = acme.pay(amount=100_00)["id"]
    acme.refund(payment, 40_00)
    till = Till(acme.merchant)
    till.today = clock.now().date()
    run = till.settle(days=60)
    assert run

    page = read(owner, acme, "payment", payment)

    section = page[page.index('id="brought"') :]
    for words in ("−₺2.75", "₺97.25", "−₺40.00", "₺57.25", f"/settlements/{run.id}"):
        assert words in section, words


@pytest.mark.usefixtures("bank")
def test_support_sees_no_fee(acme: ApiClient) -> None:
    price(acme.merchant)
    payment = acme.pay(amount=100_00)["id"]
    refund = acme.refund(payment, 40_00)["id"]
    support = signed_in(person("sam@acme.example", (acme.merchant, "support")))

    assert "₺2.75" not in read(support, acme, "payment", payment)
    assert "In your balance" not in read(support, acme, "refund", refund)


@pytest.mark.usefixtures("bank")
def test_a_refund_has_a_page(owner: Client, acme: ApiClient) -> None:
    payment = acme.pay(amount=100_00, description="Sipariş 7")["id"]
    refund = acme.refund(payment, 40_00, reason="duplicate")["id"]

    page, listed = read(owner, acme, "refund", refund), read(owner, acme, "refunds", "")

    for words in ("₺40.00", f"/payments/{payment}", "Sipariş 7", "-₺40.00", "In your balance"):
        assert words in page, words
    assert address("refund", acme.merchant.id, refund) in listed


def scheduled(till: Till, amount: int, day: int | None) -> Payout:
    """Make a payout as the schedule does, or by hand, with its money in the ledger."""
    movement = till.payout(amount)
    return Payout.objects.create(
        id=movement.cause_id, merchant=till.merchant, amount=amount, currency="try",
        acquirer_reference=movement.cause_id, automatic=day is not None,
        scheduled_on=f"2026-11-{day:02}" if day else None,
        arrival_at=movement.created_at, destination="main", created_at=movement.created_at,
        asked_at=movement.created_at, due_at=movement.created_at, request_id="req_1",
    )  # fmt: skip


def test_the_lines_of_a_payout_sum_to_it(owner: Client, acme: ApiClient) -> None:
    till = Till(acme.merchant)
    charge = till.charge(300_00)
    till.topup(50_00)
    first = scheduled(till, 40_00, 3)
    till.settle(days=3)
    refund = till.refund(charge, 20_00)
    till.dispute(charge, 5_00)
    till.then(refund, book.refund_returned)
    till.payout(30_00)
    second = scheduled(till, 200_00, 6)
    till.topup(1_00)

    made = paid_out.made_of(acme.merchant.id, "try", second.id, first.id)
    page = read(owner, acme, "payout", second.id)

    assert made.left == 10_00
    assert made.changes == {
        "settlement": 300_00, "refund": -20_00, "refund_failure": 20_00, "dispute": -5_00,
        "payout": -30_00,
    }  # fmt: skip
    assert made.left + sum(made.changes.values()) - made.stayed == made.amount == 200_00
    assert made.stayed == 75_00
    section = page[page.index('id="made-of"') :]
    for words in ("₺10.00", "+₺300.00", "−₺20.00", "−₺5.00", "−₺30.00", "−₺75.00", "₺200.00"):
        assert words in section, words
    assert "made-of" not in read(owner, acme, "payout", scheduled(till, 1_00, None).id)


@pytest.mark.parametrize("before", [None, "one"])
def test_the_first_payout_begins_with_nothing(acme: ApiClient, before: str | None) -> None:
    till = Till(acme.merchant)
    earlier = scheduled(till, till.topup(70_00).net, 3) if before else None
    till.topup(30_00)
    last: Movement = till.payout(25_00)

    made = paid_out.made_of(acme.merchant.id, "try", last.cause_id, earlier.id if earlier else None)

    assert (made.left, made.changes, made.amount, made.stayed) == (0, {"topup": 30_00}, 25_00, 5_00)
    assert re.fullmatch(r"po_\d+", last.cause_id)
