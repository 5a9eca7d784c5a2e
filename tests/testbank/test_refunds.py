"""The test bank gives captured money back: in parts, once per reference, never too much."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core import clock
from testbank import behaviours
from testbank.models import Authorization, Refund, Repayment
from testbank.states import RefundState
from tests.stage.bank_orders import (
    ask,
    authorize,
    capture,
    inquire_refund,
    numbered,
    refund,
    refunded,
    void,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

REFUND_FAILS = "4000001100000074"
PENDS_THEN_SUCCEEDS, PENDS_THEN_FAILS = "4000000000007726", "4000000000005126"


def repaid() -> tuple[int, int]:
    """Return what the one authorisation counts as refunded, and what left for the card."""
    counted = Authorization.objects.get().refunded_amount
    return counted, sum(Repayment.objects.values_list("amount", flat=True))


def test_a_refund_gives_the_money_back_with_a_number_for_the_cardholder() -> None:
    authorize(capture=True)

    told = refund()

    assert told == inquire_refund()
    assert numbered(told) == refunded()
    assert repaid() == (12500, 12500)


def test_parts_are_given_back_until_nothing_is_left() -> None:
    authorize()
    capture(10000)

    told = [refund(amount, f"back_{amount}") for amount in (6000, 4001, 4000, 1)]

    codes = [(one["result"], one["response_code"]) for one in told]
    assert codes == [("refunded", "00"), ("refused", "13"), ("refunded", "00"), ("refused", "13")]
    assert repaid() == (10000, 10000)


def test_the_same_reference_again_is_the_same_refund() -> None:
    authorize(capture=True)

    assert refund(5000) == refund(5000)
    assert repaid() == (5000, 5000)


def test_a_reference_is_about_its_first_order_for_ever() -> None:
    for reference in ("ref_1", "ref_2"):
        authorize(reference=reference, capture=True)
    first = refund(5000)

    assert refund(7000) == refund(5000, authorization="ref_2") == first
    assert Refund.objects.count() == Repayment.objects.count() == 1


def test_a_refusal_stays_a_refusal() -> None:
    authorize()
    before = refund()
    capture(12500)

    assert refund() == before
    assert numbered(before) == refunded("refused", "12")
    assert refund(reference="back_2")["result"] == "refunded"


@pytest.mark.parametrize("number", ["4242424242424242", "4000000000000002", "4000001100000058"])
def test_what_was_not_captured_is_not_refunded(number: str) -> None:
    authorize(number)

    assert numbered(refund()) == refunded("refused", "12")


def test_what_was_voided_is_not_refunded_and_what_was_refunded_is_not_voided() -> None:
    authorize(capture=True)
    authorize(capture=True, reference="ref_2")
    void()
    refund(1, "back_2", "ref_2")

    assert numbered(refund()) == refunded("refused", "12")
    assert void("ref_2")["result"] == "refused"


def test_the_bank_never_heard_of_it() -> None:
    assert numbered(refund()) == refunded("refused", "25")
    assert inquire_refund() == {"reference": "back_1", "result": "no_record"}
    assert inquire_refund("x" * 65)["result"] == "no_record"
    assert not Refund.objects.exists()


def test_the_card_whose_refund_fails() -> None:
    authorize(REFUND_FAILS, capture=True)

    assert numbered(refund()) == refunded("refused", "05")
    assert repaid() == (0, 0)


@pytest.mark.parametrize(
    ("number", "ended", "left"),
    [
        (PENDS_THEN_SUCCEEDS, refunded(), (12500, 12500)),
        (PENDS_THEN_FAILS, refunded("refused", "05"), (0, 0)),
    ],
)
def test_a_refund_that_pends_is_decided_after_five_seconds(
    number: str, ended: dict[str, Any], left: tuple[int, int]
) -> None:
    authorize(number, capture=True)
    begun = refund()
    assert numbered(begun) == refunded("pending", "09")
    assert repaid() == (12500, 0)
    assert refund(1, "back_2")["response_code"] == "13"

    clock.advance(behaviours.DECIDED_AFTER)

    assert numbered(inquire_refund()) == numbered(refund()) == ended
    assert repaid() == left


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": None},
        {"reference": "4" * 13},
        {"authorization": 7},
        {"amount": 0},
        {"amount": True},
        {"amount": "1"},
        {"amount": 2**63},
    ],
)
def test_a_malformed_refund_is_refused_and_gives_nothing_back(changes: dict[str, Any]) -> None:
    authorize(capture=True)
    sent = {"reference": "back_1", "authorization": "ref_1", "amount": 1, **changes}

    assert ask(sent, "/refunds")[0] == 400
    assert repaid() == (0, 0)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"refunded_amount": 12501}, "bank_gives_back_at_most_what_it_captured"),
        ({"refunded_amount": -1}, "bank_gives_back_at_most_what_it_captured"),
        (
            {"state": "voided", "voided_at": "2026-01-01T00:00Z", "refunded_amount": 1},
            "bank_gives_nothing_back_twice_after_a_void",
        ),
    ],
)
def test_the_database_refuses_to_give_back_more_than_there_is(
    changes: dict[str, Any], guard: str
) -> None:
    authorize(capture=True)

    with pytest.raises(IntegrityError, match=guard), transaction.atomic(using="bank"):
        Authorization.objects.update(**changes)


def test_the_database_keeps_the_book_and_no_card_number() -> None:
    authorize(capture=True)
    refund()
    [row] = Refund.objects.all()

    for rows in (Refund.objects, Repayment.objects, Authorization.objects):
        with pytest.raises(IntegrityError, match="is kept"), transaction.atomic(using="bank"):
            rows.all()._raw_delete("bank")
    with pytest.raises(IntegrityError, match="is kept"), transaction.atomic(using="bank"):
        Repayment.objects.update(amount=1)
    with pytest.raises(IntegrityError, match="card_number"), transaction.atomic(using="bank"):
        Refund.objects.update(reference="4" * 13)
    assert row.state == RefundState.REFUNDED
