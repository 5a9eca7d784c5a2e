"""Sequences without a gap, also where a work counts on from where it left an object's counter."""

from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from core import context
from events import outbox
from events.models import Counter, Event
from tests.stage.client import ApiClient
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

OBJECT_ID = "cus_1"
TYPE = "customer.updated"


def tell(acme: ApiClient, turn: int) -> int:
    """Record one change of the object and return its event's sequence."""
    body = {"object": "customer", "id": OBJECT_ID, "turn": turn}
    before = None if turn == 0 else body | {"turn": turn - 1}
    with transaction.atomic():
        return outbox.record(acme.merchant, TYPE, body, before).sequence


def tell_in_vain(acme: ApiClient, turn: int) -> None:
    with transaction.atomic():
        tell(acme, turn)
        transaction.set_rollback(True)


def sequences() -> list[int]:
    found = Event.objects.filter(aggregate_id=OBJECT_ID).order_by("sequence")
    return list(found.values_list("sequence", flat=True))


def counting(statements: CaptureQueriesContext) -> list[str]:
    texts = [query["sql"] for query in statements.captured_queries]
    return [sql for sql in texts if "events_counter" in sql or "events_event" in sql]


def test_all_events_of_one_work_take_a_statement_each(acme: ApiClient) -> None:
    with context.work(), CaptureQueriesContext(connection) as statements:
        assert [tell(acme, turn) for turn in range(4)] == [1, 2, 3, 4]

    assert len(counting(statements)) == 4
    assert sequences() == [1, 2, 3, 4]
    assert Counter.objects.get(aggregate_id=OBJECT_ID).last == 4


def test_work_that_comes_later_counts_on(acme: ApiClient) -> None:
    for turn in range(3):
        with context.work():
            tell(acme, turn)

    assert sequences() == [1, 2, 3]


def test_without_work_all_is_counted(acme: ApiClient) -> None:
    assert [tell(acme, turn) for turn in range(3)] == [1, 2, 3]


def test_what_others_have_counted_since_is_not_counted_again(acme: ApiClient) -> None:
    with context.work():
        tell(acme, 0)
        with context.work():
            assert [tell(acme, 1), tell(acme, 2)] == [2, 3]

        assert [tell(acme, 3), tell(acme, 4)] == [4, 5]

    assert sequences() == [1, 2, 3, 4, 5]


def test_what_was_undone_leaves_no_gap(acme: ApiClient) -> None:
    with context.work():
        tell(acme, 0)
        tell_in_vain(acme, 1)

        assert [tell(acme, 1), tell(acme, 2)] == [2, 3]

    assert sequences() == [1, 2, 3]


def test_what_began_in_vain_begins_again(acme: ApiClient) -> None:
    with context.work():
        tell_in_vain(acme, 0)

        assert [tell(acme, 0), tell(acme, 1)] == [1, 2]

    assert sequences() == [1, 2]


def test_an_id_of_another_merchants_object_has_a_counter_of_its_own(
    acme: ApiClient, globex: ApiClient
) -> None:
    with context.work():
        assert [tell(one, 0) for one in (acme, globex)] == [1, 1]
        assert [tell(one, 1) for one in (acme, acme, globex)] == [2, 3, 2]


@pytest.mark.parametrize("count", [2, 6])
def test_works_that_left_the_counter_at_the_same_place_take_turns(
    acme: ApiClient, count: int
) -> None:
    with context.work():
        tell(acme, 0)

    def go_on(turn: int) -> int:
        with context.work():
            context.note_change(acme.merchant.id, OBJECT_ID, sequence=1)
            return tell(acme, turn)

    found = together([partial(go_on, turn) for turn in range(1, count + 1)])

    assert sorted(found) == list(range(2, count + 2))
    assert sequences() == list(range(1, count + 2))
