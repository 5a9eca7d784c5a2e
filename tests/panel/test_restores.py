"""The panel's page of restores: what is missing, and the bank's bookings of that time."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from audit import reopening
from audit.reconciliation import differences
from audit.reconciliation.differences import Booking
from audit.restored import Comparison
from core.models import Installation
from tests.stage.client import ApiClient
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)

HELD_AT = timezone.now() - timedelta(hours=1)


@pytest.fixture
def support(acme: ApiClient) -> Client:
    return signed_in(person("sam@acme.example", (acme.merchant, "support")))


def restore(*lost: Booking) -> None:
    """Hold the database, find these bookings at the bank, and open it."""
    Installation.objects.create(identity="one", place="x", held_at=HELD_AT, held_reason="a test")
    for booking in lost:
        differences.open_lost(booking)
    reopening.open_installation(
        Comparison(), copy_is_of=HELD_AT - timedelta(minutes=10), held_at=HELD_AT, reason="A test."
    )


def shown(client: Client, merchant_id: str) -> Any:
    return client.get(f"/panel/{merchant_id}/restores")


def of(acme: ApiClient, reference: str) -> Booking:
    return Booking("sale", reference, acme.merchant.id, "try", 1234)


def test_an_installation_that_was_never_restored_misses_nothing(
    support: Client, acme: ApiClient
) -> None:
    assert "Nothing is missing" in shown(support, acme.merchant.id).content.decode()
    overview = support.get(f"/panel/{acme.merchant.id}")
    assert "/restores" not in overview.content.decode()


def test_a_merchant_sees_the_time_and_their_own_bookings_of_it(
    support: Client, acme: ApiClient, globex: ApiClient
) -> None:
    restore(of(acme, "OURS"), of(globex, "THEIRS"))

    text = shown(support, acme.merchant.id).content.decode()

    assert all(part in text for part in ("OURS", "12.34", "Not yet"))
    assert "THEIRS" not in text
    assert "Idempotency-Key" in text
    overview = support.get(f"/panel/{acme.merchant.id}").content.decode()
    assert f"/panel/{acme.merchant.id}/restores" in overview


def test_payouts_are_for_those_who_see_the_balance(support: Client, acme: ApiClient) -> None:
    accountant = signed_in(person("ann@acme.example", (acme.merchant, "accountant")))
    restore(of(acme, "SALE"), Booking("transfer_out", "PAID", acme.merchant.id, "try", 98765))

    seen = shown(accountant, acme.merchant.id).content.decode()
    hidden = shown(support, acme.merchant.id).content.decode()

    assert all(part in seen for part in ("SALE", "PAID", "987.65"))
    assert "SALE" in hidden
    assert not any(part in hidden for part in ("PAID", "987.65"))


def test_the_overview_leads_there_for_thirty_days(support: Client, acme: ApiClient) -> None:
    restore()
    Installation.objects.update(opened_at=timezone.now() - timedelta(days=31))

    overview = support.get(f"/panel/{acme.merchant.id}").content.decode()

    assert "/restores" not in overview
    assert "The bank has none" in shown(support, acme.merchant.id).content.decode()


def test_a_planned_move_is_no_restore(support: Client, acme: ApiClient) -> None:
    Installation.objects.create(identity="one", place="x", held_at=HELD_AT, held_reason="a test")
    reopening.open_moved(held_at=HELD_AT, reason="A test.")

    assert "Nothing is missing" in shown(support, acme.merchant.id).content.decode()
    assert Installation.objects.get().opened_at is None
