"""A merchant's endpoints and what is told to them, as the tests of webhooks play it."""

from typing import Any

from django.db import transaction

from core import clock, ids
from events import outbox
from events.models import Event
from merchants import keys
from merchants.models import Merchant
from payments.customers import render
from payments.customers.models import Customer
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory

PATH = "/v1/webhook_endpoints"
URL = "https://acme.example/hooks"


def endpoint(**changes: Any) -> dict[str, Any]:
    """The body of a create."""
    return {"url": URL, "enabled_events": ["*"], **changes}


def created(client: ApiClient, **changes: Any) -> Answer:
    answer = client.post(PATH, endpoint(**changes))
    assert answer.status == 200, answer.body
    return answer


def tell(merchant: Merchant, object_id: str, event_type: str = "customer.updated") -> Event:
    """Record an event, with its deliveries."""
    with transaction.atomic():
        return outbox.record(merchant, event_type, shown_customer(object_id))


def shown_customer(object_id: str) -> dict[str, Any]:
    """Return somebody whom nothing is known of."""
    return render.customer(Customer(id=object_id, created_at=clock.now()))


def limited(client: ApiClient, **scopes: str) -> ApiClient:
    """The same merchant with a key that may not do everything."""
    _key, secret = keys.create(client.merchant, name=ids.new("name"), scopes=scopes)
    return client.twin(secret)


def status_of(client: ApiClient, endpoint_id: str) -> str:
    return client.get(f"{PATH}/{endpoint_id}")["status"]


def put_in(status: str, client: ApiClient) -> str:
    """Return the id of an endpoint in the status, past the API."""
    return EndpointFactory(merchant=client.merchant, status=status, failures_in_a_row=10).id
