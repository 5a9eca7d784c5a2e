"""Captures, voids and reversals as rows: history, and what the database refuses (I2, I4)."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from core import clock, ids
from merchants.models import User
from payments.intents.models import Attempt, Modification
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
MANUAL = {"capture_method": "manual"}
DAY = 86_400


@pytest.fixture
def authorized(acme: ApiClient, bank: BankTransport) -> str:
    return acme.pay(**MANUAL)["id"]


def row(attempt: Attempt, **changes: Any) -> Modification:
    now = clock.now()
    given = {"kind": "void", "request_id": "req_1", "created_at": now, "asked_at": now, **changes}
    return Modification.objects.create(
        id=ids.new("mod"), merchant_id=attempt.merchant_id, attempt=attempt, **given
    )


def rows() -> list[tuple[str, str, str | None]]:
    found = Modification.objects.order_by("created_at", "id")
    return [(one.kind, one.status, one.answer) for one in found]


def lost_capture(acme: ApiClient, bank: BankTransport, payment_id: str) -> None:
    """Let a capture get lost on its way, and the sweeper find that it never came."""
    bank.fault = "lost"
    acme.post(f"{PATH}/{payment_id}/capture")
    bank.fault = None
    for _ in range(4):
        sweep_after(600)


def test_a_payment_that_is_created_and_confirmed_has_none(
    acme: ApiClient, bank: BankTransport
) -> None:
    assert acme.pay()["status"] == "succeeded"

    assert rows() == []


def test_a_row_tells_how_it_ended(acme: ApiClient, authorized: str) -> None:
    acme.post(f"{PATH}/{authorized}/capture", {"amount_to_capture": 500})

    [capture] = Modification.objects.all()
    assert (capture.kind, capture.status, capture.answer) == ("capture", "succeeded", "approved")
    assert (capture.amount, capture.due_at, capture.lease_until) == (500, None, None)


def test_the_history_of_three_captures_is_kept_and_shown_to_operators(
    acme: ApiClient, bank: BankTransport, authorized: str, client: Client
) -> None:
    lost_capture(acme, bank, authorized)
    lost_capture(acme, bank, authorized)
    acme.post(f"{PATH}/{authorized}/capture")
    client.force_login(User.objects.create_superuser("operator@example.com", "x" * 20))

    page = client.get(reverse("admin:intents_paymentintent_change", args=[authorized]))

    assert rows() == [
        ("capture", "failed", "no_record"),
        ("capture", "failed", "no_record"),
        ("capture", "succeeded", "approved"),
    ]
    shown = page.content.decode()
    told = "capture ₺125.00: failed (no_record)", "capture ₺125.00: succeeded (approved)"
    assert (shown.count(told[0]), shown.count(told[1])) == (2, 1)


def test_a_refused_capture_and_its_release_are_two_rows(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay("4000001100000066", **MANUAL)

    acme.post(f"{PATH}/{paid['id']}/capture")

    assert rows() == [("capture", "failed", "declined"), ("fallback", "succeeded", "approved")]


def test_an_expired_authorisation_is_voided_by_a_row_of_its_own(
    acme: ApiClient, authorized: str
) -> None:
    sweep_after(7 * DAY)

    [void] = Modification.objects.all()
    assert (void.kind, void.reason, void.request_id) == ("void", "expired", "")
    assert acme.payment(authorized)["status"] == "canceled"


def test_a_cancellation_takes_the_place_of_the_release_of_an_expired_authorisation(
    acme: ApiClient, bank: BankTransport, authorized: str
) -> None:
    bank.fault = "lost"
    sweep_after(7 * DAY)
    bank.fault = None

    canceled = acme.post(f"{PATH}/{authorized}/cancel", {"cancellation_reason": "duplicate"})

    assert (canceled["status"], canceled["cancellation_reason"]) == ("canceled", "duplicate")
    assert rows() == [("void", "superseded", "unknown"), ("void", "succeeded", "lapsed")]


# --- What the database refuses ----------------------------------------------------------------


def test_one_modification_of_an_attempt_is_open_at_a_time() -> None:
    attempt = AttemptFactory()
    row(attempt)

    with pytest.raises(IntegrityError, match="one_open_modification_per_attempt"):
        row(attempt, kind="capture", amount=1)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"kind": "capture"}, "a_capture_has_an_amount"),
        ({"kind": "capture", "amount": 0}, "a_capture_has_an_amount"),
        ({"kind": "void", "amount": 1}, "a_capture_has_an_amount"),
        ({"status": "succeeded"}, "a_modification_is_open_or_closed"),
        ({"answer": "approved"}, "a_modification_is_open_or_closed"),
    ],
)
def test_an_impossible_modification_is_refused(changes: dict[str, Any], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        row(AttemptFactory(), **changes)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    "changes", [{"kind": "reverse"}, {"reason": "expired"}, {"request_id": "req_2"}]
)
def test_a_modifications_terms_are_fixed(changes: dict[str, Any]) -> None:
    begun = row(AttemptFactory())

    with pytest.raises(IntegrityError, match="cannot change"), transaction.atomic():
        Modification.objects.filter(id=begun.id).update(**changes)


@pytest.mark.parametrize("after", ["processing", "failed"])
def test_a_modification_that_ended_stays_as_it_ended(after: str) -> None:
    now = clock.now()
    ended = row(AttemptFactory(), status="succeeded", answer="approved", closed_at=now)

    with pytest.raises(IntegrityError, match="does not move"), transaction.atomic():
        Modification.objects.filter(id=ended.id).update(status=after)


def test_a_modification_of_another_merchants_attempt_is_refused(globex: ApiClient) -> None:
    attempt = AttemptFactory()
    attempt.merchant_id = globex.merchant.id
    row(attempt)

    with (
        pytest.raises(IntegrityError, match="a_modifications_attempt_is_the_merchants"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
