"""Constraints of the database refuse impossible payments by themselves (I1 to I4, I11)."""

from itertools import product
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from core import clock
from payments.customers.models import Customer
from payments.intents.models import Attempt, LineItem, PaymentIntent
from payments.intents.states import (
    OPEN_ATTEMPT,
    PAYMENTS,
    SUCCESSFUL_ATTEMPT,
    AttemptStatus,
    PaymentStatus,
)
from tests.stage.factories import AttemptFactory, MerchantFactory, PaymentFactory, sealed_card

pytestmark = pytest.mark.django_db

TAKES_THE_PLACE = (*OPEN_ATTEMPT, *SUCCESSFUL_ATTEMPT)


def commit() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def database_lets(before: PaymentStatus, after: PaymentStatus) -> bool:
    row = PaymentFactory(status=before)
    try:
        with transaction.atomic():
            PaymentIntent.objects.filter(id=row.id).update(status=after)
    except IntegrityError:
        return False
    return True


def attempt(intent: PaymentIntent, status: AttemptStatus) -> Attempt:
    closed_at = None if status in OPEN_ATTEMPT else clock.now()
    return AttemptFactory(intent=intent, status=status, closed_at=closed_at)


def test_the_database_lets_a_status_move_only_as_the_table_lists() -> None:
    pairs = {
        (before, after)
        for before, after in product(PaymentStatus, PaymentStatus)
        if before != after
    }

    allowed = {pair for pair in pairs if database_lets(*pair)}

    assert allowed == pairs & PAYMENTS.pairs
    assert len(pairs) == 42


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"refunded_minor": 12501}, "refunded_is_within_captured_is_within_authorized"),
        ({"refunded_minor": -1}, "refunded_is_within_captured_is_within_authorized"),
        ({"captured_minor": 12501}, "refunded_is_within_captured_is_within_authorized"),
        ({"amount_capturable": 1}, "refunded_is_within_captured_is_within_authorized"),
        ({"captured_surcharge": 12501}, "refunded_is_within_captured_is_within_authorized"),
        ({"captured_minor": 0}, "a_succeeded_payment_has_money"),
        ({"authorized_minor": 12501}, "authorized_is_nothing_or_amount_and_surcharge"),
        ({"surcharge": -1, "authorized_minor": 12499}, "no_part_of_a_payment_is_negative"),
        ({"amount": 0, "authorized_minor": 0}, "a_payment_is_at_least_one"),
        ({"amount": 10**12, "authorized_minor": 10**12}, "a_payment_is_at_least_one"),
        ({"currency": "TRY"}, "a_payment_has_a_small_currency"),
        (
            {"status": "requires_confirmation", "sealed_card": None},
            "a_payment_to_confirm_has_a_card",
        ),
    ],
)
def test_an_impossible_payment_is_refused(changes: dict[str, Any], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        PaymentFactory(**changes)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("second", TAKES_THE_PLACE)
@pytest.mark.parametrize("first", TAKES_THE_PLACE)
def test_a_payment_has_one_open_or_successful_attempt(
    first: AttemptStatus, second: AttemptStatus
) -> None:
    intent = PaymentFactory()
    attempt(intent, first)

    with pytest.raises(IntegrityError, match="one_open_or_successful_attempt_per_payment"):
        attempt(intent, second)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("first", sorted(set(AttemptStatus) - set(TAKES_THE_PLACE)))
def test_an_attempt_that_ended_without_money_makes_room(first: AttemptStatus) -> None:
    intent = PaymentFactory()

    attempt(intent, first)
    attempt(intent, AttemptStatus.PROCESSING)

    assert intent.attempts.count() == 2


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 1},
        {"surcharge": 1},
        {"currency": "eur"},
        {"acquirer_reference": "ref_other"},
        {"card": {"bin": "424242", "last4": "0000"}},
        {"sealed_card": "tok_other"},
    ],
)
def test_an_attempts_terms_are_fixed(changes: dict[str, Any]) -> None:
    row = AttemptFactory()

    with pytest.raises(IntegrityError, match="cannot change"):
        Attempt.objects.filter(id=row.id).update(**changes)


@pytest.mark.every_case("the database refuses whatever the code does")
@pytest.mark.parametrize("shown", [{"bin": "424242", "last4": "0000"}, {"bin": "555555"}, {}])
def test_an_attempt_shows_the_card_that_it_sends(shown: dict[str, str]) -> None:
    with pytest.raises(IntegrityError, match="shows another card than it sends"):
        AttemptFactory(card=shown)


@pytest.mark.parametrize("status", [AttemptStatus.SUCCEEDED, AttemptStatus.PROCESSING])
def test_a_failed_attempt_stays_failed(status: AttemptStatus) -> None:
    row = attempt(PaymentFactory(), AttemptStatus.FAILED)

    with pytest.raises(IntegrityError, match="does not move"):
        Attempt.objects.filter(id=row.id).update(status=status)


def test_a_reference_is_sent_to_the_bank_for_one_attempt_only() -> None:
    AttemptFactory(acquirer_reference="ref_1")

    with pytest.raises(IntegrityError, match="acquirer_reference"):
        AttemptFactory(acquirer_reference="ref_1")


@pytest.mark.parametrize("changes", [{"amount": 1}, {"currency": "eur"}])
def test_an_attempt_fixes_the_payments_terms(changes: dict[str, Any]) -> None:
    row = AttemptFactory(intent__status="processing", intent__authorized_minor=0,
                         intent__captured_minor=0).intent  # fmt: skip

    with pytest.raises(IntegrityError, match="amount and currency are fixed"):
        PaymentIntent.objects.filter(id=row.id).update(**changes)


def test_a_payment_has_no_other_merchants_customer() -> None:
    customer = Customer.objects.create(
        id="cus_1", merchant=MerchantFactory(), created_at=clock.now()
    )
    PaymentFactory(customer=customer)

    with pytest.raises(IntegrityError, match="a_payments_customer_is_the_merchants"):
        commit()


def test_a_payment_has_no_other_merchants_card() -> None:
    PaymentFactory(sealed_card=sealed_card(MerchantFactory()))

    with pytest.raises(IntegrityError, match="a_payments_card_is_the_merchants"):
        commit()


def test_an_attempt_has_no_other_merchants_payment() -> None:
    AttemptFactory(merchant=MerchantFactory())

    with pytest.raises(IntegrityError, match="an_attempts_payment_is_the_merchants"):
        commit()


def test_an_attempt_has_no_other_merchants_card() -> None:
    AttemptFactory(sealed_card=sealed_card(MerchantFactory()))

    with pytest.raises(IntegrityError, match="an_attempts_card_is_the_merchants"):
        commit()


def test_a_line_has_no_other_merchants_payment() -> None:
    LineItem.objects.create(
        id="li_1", merchant=MerchantFactory(), intent=PaymentFactory(), position=0, name="Tea",
        quantity=1, unit_amount=1, amount=1, currency="try", tax_amount=0, discount_amount=0,
        created_at=clock.now(),
    )  # fmt: skip

    with pytest.raises(IntegrityError, match="a_line_items_payment_is_the_merchants"):
        commit()
