"""Lists of events are filtered by type, family of types, object and time."""

import pytest
from django.http import QueryDict

from core.errors import DomainError
from core.rest import lists
from events.filters import EventFilters
from events.models import Event
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SPEC = lists.ListSpec(filters=EventFilters)


def told(client: ApiClient, query: str) -> list[str]:
    """Return the types of the events found, newest first."""
    rows = Event.objects.for_merchant(client.merchant)
    page = lists.page(rows, QueryDict(query), SPEC, url="/v1/events")
    return [event.type for event in page.rows]


CREATED, SUCCEEDED, CUSTOMER = (
    "payment_intent.created", "payment_intent.succeeded", "customer.created",
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("type=payment_intent.succeeded", [SUCCEEDED]),
        ("type=payment_intent.*", [SUCCEEDED, CREATED]),
        ("type=refund.*", []),
        ("types[]=customer.created&types[]=payment_intent.created", [CREATED, CUSTOMER]),
        ("types[0]=customer.*&types[1]=payment_intent.*", [SUCCEEDED, CREATED, CUSTOMER]),
        ("types=customer.*", [CUSTOMER]),
        ("types[]=payment_intent.*&type=customer.created", []),
        ("aggregate_type=customer", [CUSTOMER]),
        ("aggregate_type=payout", []),
        ("aggregate_id={payment}", [SUCCEEDED, CREATED]),
        ("aggregate_id={payment}&type=payment_intent.created", [CREATED]),
        ("aggregate_id=x", []),
        ("created[gte]=1&sort=created", [CUSTOMER, CREATED, SUCCEEDED]),
        ("created[lt]=1", []),
    ],
)
def test_events_are_found_by(
    query: str, found: list[str], acme: ApiClient, bank: BankTransport
) -> None:
    acme.post("/v1/customers")
    payment = acme.pay()["id"]

    assert told(acme, query.format(payment=payment)) == found


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("type=payment_intent", "type"),
        ("type=payment_intent.paid", "type"),
        ("type=*", "type"),
        ("type=payment_*", "type"),
        ("type=", "type"),
        ("type=customer.created&type=customer.updated", "type"),
        ("type[]=customer.created", "type[]"),
        ("types[]=customer.created&types[]=nothing", "types[]"),
        ("types[a]=customer.created", "types[a]"),
        ("aggregate_type=cus", "aggregate_type"),
        ("aggregate_id=", "aggregate_id"),
        ("delivery_failed=true", "delivery_failed"),
    ],
)
def test_a_filter_of_events_refuses(query: str, param: str, acme: ApiClient) -> None:
    with pytest.raises(DomainError) as refused:
        told(acme, query)

    assert (refused.value.code, refused.value.param) == ("parameter_invalid", param)
