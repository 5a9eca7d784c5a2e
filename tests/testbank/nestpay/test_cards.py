"""Each card of the sandbox behaves alike at the bank's two doors, and stands alike in its book."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from testbank import behaviours
from testbank.models import Authorization, Capture
from tests.stage import bank_orders as sandbox
from tests.stage import nestpay_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

UNLISTED = "4000056655665556"
ALL = [*behaviours.CARDS, UNLISTED]
DECIDED = timedelta(seconds=5)


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


def booked(reference: str) -> tuple[Any, ...]:
    """Return what the book says of a payment after all that is due."""
    sandbox.inquire(reference)
    row = Authorization.objects.get(reference=reference)
    taken = sum(Capture.objects.filter(authorization=row).values_list("amount", flat=True))
    return row.state, row.response_code, row.behaviour, row.answered, row.captured_amount, taken


@pytest.mark.every_case("each card of the sandbox is a promise of its own")
@pytest.mark.parametrize("number", ALL)
def test_a_card_without_authentication_is_alike_at_both_doors(number: str) -> None:
    sandbox.ask(sandbox.order(number))
    shop.send(shop.written(shop.payment(number)))

    assert booked(shop.ORDER_ID) == booked("ref_1")
    clock.advance(DECIDED)
    assert booked(shop.ORDER_ID) == booked("ref_1")


@pytest.mark.every_case("each card of the sandbox is a promise of its own")
@pytest.mark.parametrize("number", ALL)
def test_a_card_with_authentication_is_alike_at_both_doors(number: str) -> None:
    began = sandbox.authenticate(number)
    page = shop.enter(shop.form(number))
    if began["result"] == "cannot_start":
        assert page.form.fields["mdStatus"] in ("6", "8")
        return
    answer = payer.press(payer.open_challenge(began["acs_url"]), "Approve").form.fields
    back = payer.press(page, "Approve").form.fields
    assert back["mdStatus"] == answer["md_status"]
    assert back["eci"] == answer["eci"]
    if back["mdStatus"] == "0":
        return

    proof = {name: answer[name] for name in ("transaction_id", "eci", "cavv")}
    sandbox.ask(sandbox.order(number, authentication=proof))
    shop.send(shop.written(shop.proof(back)))

    assert booked(shop.ORDER_ID) == booked("ref_1")
    clock.advance(DECIDED)
    assert booked(shop.ORDER_ID) == booked("ref_1")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("4000000000000259", "dispute_opened"),
        ("4000000000001976", "inquiry_opened"),
        ("4000000000005423", "fraud_warning"),
    ],
)
def test_trouble_after_a_capture_comes_as_a_notice_about_the_order(number: str, kind: str) -> None:
    shop.pay(number)
    clock.advance(timedelta(seconds=3))

    [notice] = sandbox.notices()

    assert (notice["kind"], notice["reference"]) == (kind, shop.ORDER_ID)
    assert notice["amount"] == 12500


def test_disputed_money_is_neither_voided_nor_refunded() -> None:
    shop.pay("4000000000000259")
    clock.advance(timedelta(days=1))
    sandbox.notices()

    assert shop.said(shop.void()) == shop.refused("CORE-2008")
    assert shop.said(shop.refund()) == shop.refused("CORE-2504")


def test_the_statement_has_the_order_with_its_refunds() -> None:
    shop.pay()
    clock.advance(timedelta(days=1))
    shop.refund("25.00")

    [line] = sandbox.ask(b"", "/statement", "GET")[1]["lines"]

    assert (line["reference"], line["merchant"]) == (shop.ORDER_ID, shop.FIRST.client_id)
    assert (line["taken_amount"], line["repaid_amount"]) == (12500, 2500)
