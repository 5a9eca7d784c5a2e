"""Deliveries are planned in the transaction of the change that they tell of."""

from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction

from core import clock
from events import outbox
from merchants.models import Merchant
from tests.stage.factories import EndpointFactory, MerchantFactory
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db


def tell(merchant: Merchant, object_id: str, event_type: str = "customer.updated") -> None:
    with transaction.atomic():
        outbox.record(merchant, event_type, {"id": object_id, "object": "customer"})


def planned(endpoint: Endpoint) -> list[tuple[int, str, bool]]:
    rows = Delivery.objects.filter(endpoint=endpoint).order_by("sequence")
    return [(row.sequence, row.status, row.is_missed) for row in rows]


def test_an_event_is_planned_for_every_subscribed_endpoint() -> None:
    acme = MerchantFactory()
    everything, exactly, other = (
        EndpointFactory(merchant=acme, enabled_events=types)
        for types in (["*"], ["customer.updated", "refund.created"], ["customer.created"])
    )
    globex = EndpointFactory()

    tell(acme, "cus_1")

    assert planned(everything) == planned(exactly) == [(1, "pending", False)]
    assert planned(other) == planned(globex) == []


def test_a_lane_counts_what_is_open_in_it() -> None:
    endpoint = EndpointFactory()

    for object_id in ("cus_1", "cus_2", "cus_1"):
        tell(endpoint.merchant, object_id)

    lanes = Lane.objects.filter(endpoint=endpoint).order_by("key")
    assert [(lane.key, lane.open_count) for lane in lanes] == [("cus_1", 2), ("cus_2", 1)]


@pytest.mark.parametrize("status", ["disabled", "failing"])
def test_an_endpoint_that_is_not_enabled_misses_the_event_and_the_row_says_so(status: str) -> None:
    endpoint = EndpointFactory(status=status)

    tell(endpoint.merchant, "cus_1")

    assert planned(endpoint) == [(1, "canceled", True)]
    assert not Lane.objects.exists()


def test_a_deleted_endpoint_misses_nothing() -> None:
    endpoint = EndpointFactory(status="disabled", deleted_at=clock.now())

    tell(endpoint.merchant, "cus_1")

    assert planned(endpoint) == []


def test_a_change_that_is_undone_plans_nothing() -> None:
    endpoint = EndpointFactory()

    with transaction.atomic():
        tell(endpoint.merchant, "cus_1")
        transaction.set_rollback(True)

    assert planned(endpoint) == []
    assert not Lane.objects.exists()


def test_sixteen_endpoints_are_planned_with_ids_of_their_own() -> None:
    acme = MerchantFactory()
    for _ in range(16):
        EndpointFactory(merchant=acme)

    tell(acme, "cus_1")

    assert Delivery.objects.values("id").distinct().count() == 16


def test_a_transaction_wakes_the_senders_once_however_many_events_it_has(
    django_capture_on_commit_callbacks: Any,
) -> None:
    endpoint = EndpointFactory()

    with django_capture_on_commit_callbacks() as woken, transaction.atomic():
        for number in range(5):
            tell(endpoint.merchant, f"cus_{number}")

    assert len(woken) == 1


def test_what_a_savepoint_took_back_keeps_nobody_from_being_woken(
    django_capture_on_commit_callbacks: Any,
) -> None:
    endpoint = EndpointFactory()

    with django_capture_on_commit_callbacks() as woken, transaction.atomic():
        with suppress(KeyError), transaction.atomic():
            tell(endpoint.merchant, "cus_1")
            raise KeyError
        tell(endpoint.merchant, "cus_2")

    assert len(woken) == 1
