"""Constraints of the database refuse impossible sessions by themselves."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from core import clock, ids
from payments.checkout.models import CheckoutSession
from payments.checkout.states import SESSIONS, SessionStatus
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.factories import MerchantFactory, PaymentFactory

pytestmark = pytest.mark.django_db

ENDS: dict[str, dict[str, Any]] = {
    "open": {},
    "complete": {"customer_details": {"name": "Ayşe"}},
    "expired": {"expiration_reason": "api"},
}


def ended_as(status: str) -> dict[str, Any]:
    ended_at = None if status == "open" else clock.now()
    nothing = {"expiration_reason": None, "customer_details": None}
    return {**nothing, "status": status, "ended_at": ended_at, **ENDS[status]}


def row(
    status: str = "open", payment: PaymentIntent | None = None, **changes: Any
) -> CheckoutSession:
    intent = payment or PaymentFactory()
    now = clock.now()
    given = {"merchant": intent.merchant, "intent": intent, **ended_as(status), **changes}
    return CheckoutSession.objects.create(
        id=ids.new("cs"),
        made_payment=False,
        expires_at=now + timedelta(days=1),
        created_at=now,
        **given,
    )


def database_takes(changed: CheckoutSession, **changes: Any) -> bool:
    try:
        with transaction.atomic():
            CheckoutSession.objects.filter(id=changed.id).update(**changes)
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except IntegrityError:
        return False
    return True


def test_the_database_lets_a_status_move_only_as_the_table_lists() -> None:
    pairs = {(old, new) for old, new in product(SessionStatus, SessionStatus) if old != new}

    allowed = {(old, new) for old, new in pairs if database_takes(row(old), **ended_as(new))}

    assert allowed == pairs & SESSIONS.pairs
    assert len(pairs) == 6


def test_a_payment_has_one_open_session() -> None:
    payment = PaymentFactory()
    row("expired", payment), row("complete", payment), row("open", payment)

    with pytest.raises(IntegrityError, match="one_open_session_per_payment"):
        row("open", payment)


@pytest.mark.parametrize("terms", [
    {"success_url": "https://globex.example"}, {"cancel_url": "https://globex.example"},
    {"billing_details": {"email": "x@globex.example"}}, {"three_d_secure": "required"},
    {"installments_max": 3}, {"made_payment": True}, {"client_reference_id": "x"},
    {"expires_at": datetime(2040, 1, 1, tzinfo=UTC)}, {"locale": "tr"},
])  # fmt: skip
def test_its_terms_stay(terms: dict[str, Any]) -> None:
    assert not database_takes(row(), **terms)


def test_it_stays_at_its_payment() -> None:
    made = row()
    other = PaymentFactory(merchant=made.merchant)

    assert not database_takes(made, intent=other)


def test_its_payment_and_its_customer_are_its_merchants() -> None:
    globex = MerchantFactory(name="Globex")
    theirs = Customer.objects.create(id=ids.new("cus"), merchant=globex, created_at=clock.now())

    for foreign in ({"merchant": globex}, {"customer": theirs}):
        with pytest.raises(IntegrityError, match="is_the_merchants"):
            committed(foreign)


def committed(changes: dict[str, Any]) -> None:
    payment = PaymentFactory()
    with transaction.atomic():
        row("open", payment, **changes)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize("changes", [
    {"tries": 3}, {"expiration_reason": "time"}, {"ended_at": None}, {"customer_details": {}},
])  # fmt: skip
def test_its_end_is_final(changes: dict[str, Any]) -> None:
    assert not database_takes(row("expired"), **changes)


def test_metadata_changes_and_open_tries_count() -> None:
    assert database_takes(row("expired"), metadata={"a": "b"})
    assert database_takes(row("open"), tries=1)


@pytest.mark.parametrize(("status", "changes"), [
    ("open", {"ended_at": datetime(2026, 1, 1, tzinfo=UTC)}),
    ("open", {"expiration_reason": "api"}), ("open", {"customer_details": {"name": "x"}}),
    ("open", {"tries": -1}), ("open", {"status": "expired"}), ("open", {"status": "complete"}),
])  # fmt: skip
def test_a_session_that_makes_no_sense_is_refused(status: str, changes: dict[str, Any]) -> None:
    assert not database_takes(row(status), **changes)
