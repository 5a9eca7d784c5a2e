"""Attempts live 30 days, events 90; what is owed is never forgotten (contract 9, Retention)."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from core import clock
from events import outbox
from events.models import Counter, Event
from ledger.tasks import settle_due
from tests.stage.factories import EndpointFactory
from webhooks import retention, tasks
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture
def endpoint() -> Endpoint:
    return EndpointFactory()


def tell(endpoint: Endpoint, object_id: str) -> Event:
    with transaction.atomic():
        body = {"id": object_id, "object": "customer"}
        return outbox.record(endpoint.merchant, "customer.updated", body)


def end(event: Event, status: str, *, is_missed: bool = False) -> None:
    Delivery.objects.filter(event=event).update(status=status, is_missed=is_missed)


def kept() -> tuple[int, int]:
    return Delivery.objects.count(), Event.objects.count()


@pytest.mark.parametrize(
    ("days", "left"),
    [(29, (1, 1)), (31, (0, 1)), (89, (0, 1)), (91, (0, 0))],
)
def test_an_attempt_is_forgotten_after_30_days_and_its_event_after_90(
    days: int, left: tuple[int, int], endpoint: Endpoint
) -> None:
    end(tell(endpoint, "cus_1"), "succeeded")

    clock.advance(timedelta(days=days))
    tasks.forget_old()

    assert kept() == left


def test_a_run_gets_past_what_is_kept_however_long_that_takes(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(endpoint, "cus_1")
    tell(endpoint, "cus_1")
    end(tell(endpoint, "cus_2"), "succeeded")
    monkeypatch.setattr(retention, "CHUNK", 1)
    monkeypatch.setattr(retention, "RUN_SECONDS", 0)

    clock.advance(timedelta(days=91))
    retention.forget_old()

    assert kept() == (2, 2)


def test_what_is_pending_is_never_forgotten(endpoint: Endpoint) -> None:
    tell(endpoint, "cus_1")

    clock.advance(timedelta(days=400))
    retention.forget_old()

    assert kept() == (1, 1)


def test_an_object_of_which_something_is_owed_keeps_all_its_events(endpoint: Endpoint) -> None:
    first, second = tell(endpoint, "cus_1"), tell(endpoint, "cus_1")
    other = tell(endpoint, "cus_2")
    end(second, "succeeded")
    end(other, "succeeded")

    clock.advance(timedelta(days=91))
    retention.forget_old()

    assert set(Event.objects.values_list("id", flat=True)) == {first.id, second.id}


def test_a_missed_attempt_stays_as_long_as_its_event(endpoint: Endpoint) -> None:
    end(tell(endpoint, "cus_1"), "canceled", is_missed=True)

    clock.advance(timedelta(days=89))
    retention.forget_old()
    before = kept()
    clock.advance(timedelta(days=2))
    retention.forget_old()

    assert before == (1, 1)
    assert kept() == (0, 0)


def test_the_sequence_goes_on_where_it_was(endpoint: Endpoint) -> None:
    end(tell(endpoint, "cus_1"), "succeeded")

    clock.advance(timedelta(days=91))
    retention.forget_old()

    assert tell(endpoint, "cus_1").sequence == 2
    assert Counter.objects.get(aggregate_id="cus_1").last == 2


def test_young_ones_behind_many_old_ones_are_found_and_stay(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CHUNK", 3)
    for number in range(10):
        end(tell(endpoint, f"cus_{number}"), "canceled", is_missed=number % 2 == 0)
    clock.advance(timedelta(days=31))
    end(tell(endpoint, "cus_young"), "succeeded")

    forgotten = retention.forget_old()

    assert forgotten == {"deliveries": 5, "events": 0, "secrets": 0}
    assert kept() == (6, 11)


def test_an_event_is_deleted_in_no_other_way(endpoint: Endpoint) -> None:
    event = tell(endpoint, "cus_1")
    Delivery.objects.all().delete()

    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.filter(pk=event.pk)._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT prune_events(%s)", [[]])
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.filter(pk=event.pk)._raw_delete("default")

    assert Event.objects.count() == 1


def test_the_audit_finds_no_gap_where_events_were_pruned(
    acme_paid: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    for event in Event.objects.all():
        end(event, "succeeded")
    clock.advance(timedelta(days=91))

    forgotten = retention.forget_old()
    settle_due()
    call_command("audit")

    assert forgotten["events"] == 2
    assert "events of an object have no gap" in capsys.readouterr().out


@pytest.fixture
def acme_paid(acme: object, bank: object) -> Endpoint:
    endpoint = EndpointFactory(merchant=acme.merchant)
    acme.pay()
    return endpoint
