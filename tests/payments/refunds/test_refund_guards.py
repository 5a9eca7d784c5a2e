"""Refunds as rows: what the database refuses (I2, I4, I11)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from acquirers import references
from core import clock, ids
from payments.intents.models import Attempt
from payments.refunds.models import Refund
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory
from tests.stage.planner import takes_for_large

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def attempt() -> Attempt:
    now = clock.now()
    return AttemptFactory(
        status="succeeded", captured_minor=12500, captured_at=now, closed_at=now, due_at=None
    )


def row(attempt: Attempt, **changes: Any) -> Refund:
    now = clock.now()
    given = {
        "status": "pending",
        "method": "refund",
        "pending_reason": "processing",
        "sent_at": now,
        "due_at": now,
        **changes,
    }
    return Refund.objects.create(
        id=ids.new("re"),
        merchant_id=attempt.merchant_id,
        intent=attempt.intent,
        attempt=attempt,
        acquirer_reference=references.new(),
        amount=given.pop("amount", 4000),
        currency=given.pop("currency", attempt.currency),
        request_id="req_1",
        created_at=now,
        asked_at=now,
        **given,
    )


CLOSED = {"pending_reason": None, "due_at": None, "closed_at": "2026-01-01T00:00:00Z"}


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"amount": 0}, "a_refund_is_at_least_one"),
        ({"amount": -1}, "a_refund_is_at_least_one"),
        ({"pending_reason": None}, "a_refund_is_pending_or_closed"),
        ({"closed_at": "2026-01-01T00:00:00Z"}, "a_refund_is_pending_or_closed"),
        ({**CLOSED, "status": "succeeded", "closed_at": None}, "a_refund_is_pending_or_closed"),
        ({**CLOSED, "status": "failed"}, "a_failed_refund_says_why"),
        ({"failure_reason": "declined"}, "a_failed_refund_says_why"),
        ({"pending_reason": "insufficient_funds"}, "a_refund_that_waits_for_funds_has_not_left"),
        (
            {"pending_reason": "insufficient_funds", "sent_at": None, "method": "void"},
            "a_refund_that_waits_for_funds_has_not_left",
        ),
        ({**CLOSED, "status": "canceled"}, "a_canceled_refund_has_not_left"),
        ({**CLOSED, "status": "succeeded", "sent_at": None}, "a_succeeded_refund_has_left"),
    ],
)
def test_an_impossible_refund_is_refused(
    changes: dict[str, Any], constraint: str, attempt: Attempt
) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        row(attempt, **changes)


def test_possible_ones_are_taken(attempt: Attempt) -> None:
    row(attempt)
    row(attempt, pending_reason="insufficient_funds", sent_at=None)
    row(attempt, **CLOSED, status="canceled", sent_at=None)
    row(attempt, **CLOSED, status="failed", failure_reason="declined")
    row(attempt, **CLOSED, status="succeeded", method="void")


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 1},
        {"currency": "eur"},
        {"request_id": "req_2"},
        {"acquirer_reference": "ANOTHER"},
        {"method": "void"},
    ],
)
def test_a_refunds_terms_are_fixed(changes: dict[str, Any], attempt: Attempt) -> None:
    made = row(attempt)

    with pytest.raises(IntegrityError, match="cannot change"), transaction.atomic():
        Refund.objects.filter(id=made.id).update(**changes)


def test_a_void_becomes_a_refund_while_it_is_pending_only(attempt: Attempt) -> None:
    pending = row(attempt, method="void")
    done = row(attempt, **CLOSED, status="succeeded", method="void")

    Refund.objects.filter(id=pending.id).update(method="refund")
    with pytest.raises(IntegrityError, match="cannot change"), transaction.atomic():
        Refund.objects.filter(id=done.id).update(method="refund")


@pytest.mark.parametrize("after", ["pending", "canceled"])
def test_a_refund_that_ended_does_not_go_back(after: str, attempt: Attempt) -> None:
    done = row(attempt, **CLOSED, status="succeeded")

    with pytest.raises(IntegrityError, match="does not move"), transaction.atomic():
        Refund.objects.filter(id=done.id).update(status=after)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("status", ["authorized", "failed", "canceled", "abandoned"])
def test_an_attempt_that_took_no_money_gives_none_back(status: str) -> None:
    attempt = AttemptFactory(status=status, closed_at=clock.now())

    with pytest.raises(IntegrityError, match="took no money of this payment"):
        row(attempt)


def test_money_goes_back_in_the_currency_that_was_taken(attempt: Attempt) -> None:
    with pytest.raises(IntegrityError, match="took no money of this payment"):
        row(attempt, currency="eur")


def test_an_attempt_of_another_payment_is_refused(attempt: Attempt) -> None:
    attempt.intent = AttemptFactory(status="failed", closed_at=clock.now()).intent

    with pytest.raises(IntegrityError, match="took no money of this payment"):
        row(attempt)


def test_a_refund_of_another_merchants_payment_is_refused(
    attempt: Attempt, globex: ApiClient
) -> None:
    attempt.merchant_id = globex.merchant.id
    row(attempt)

    with (
        pytest.raises(IntegrityError, match="a_refunds_(payment|attempt)_is_the_merchants"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_the_banks_reference_is_used_once(attempt: Attempt) -> None:
    first = row(attempt)
    second = row(attempt)
    second.acquirer_reference = first.acquirer_reference
    second.id = ids.new("re")

    with pytest.raises(IntegrityError, match="acquirer_reference"):
        second.save(force_insert=True)


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (lambda some: some.filter(status="failed"), "refunds_by_status"),
        (lambda some: some.filter(method="void"), "refunds_by_method"),
        (lambda some: some.filter(intent="pi_1"), "refunds_of_a_payment"),
        (lambda some: some, "refunds_of_a_merchant"),
    ],
)
def test_a_list_is_read_along_an_index(rows: Any, index: str, attempt: Attempt) -> None:
    some = rows(Refund.objects.filter(merchant=attempt.merchant)).order_by("-created_at", "-id")
    row(attempt)
    takes_for_large("refunds_refund")

    plan = some[:10].explain()

    assert f"Index Scan Backward using {index}" in plan, plan


def test_the_looks_of_beat_are_looks_at_partial_indexes(attempt: Attempt) -> None:
    waiting = Refund.objects.filter(status="pending", pending_reason="insufficient_funds")
    due = Refund.objects.filter(due_at__lte=clock.now() + timedelta(days=1)).order_by("due_at")

    row(attempt)
    takes_for_large("refunds_refund")
    looked = waiting.values_list("merchant_id", "currency").distinct().explain()

    assert "refunds_that_wait_for_funds" in looked, looked
    assert "refunds_that_are_due" in due[:4].explain()
