"""An endpoint's deliveries in the panel, narrowed by the filters of the API's list."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from events.models import Event
from panel.merchants import listing
from panel.patience import TookTooLong
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, EndpointFactory
from tests.stage.hooks import PATH, tell
from tests.stage.teams import person, signed_in
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LINK = re.compile(r'<li><a href="([^"]*delivery=[^"]*)"')
FILTERS = [
    {"status[]": "failed"}, {"status[]": ["failed", "succeeded"]}, {"status": "pending"},
    {"event_type": "customer.created"}, {"event_type": "customer.*"}, {"trigger": "resend"},
    {"status[]": "failed", "event_type": "customer.updated", "trigger": "automatic"},
]  # fmt: skip


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def endpoint(acme: ApiClient) -> Endpoint:
    return EndpointFactory(merchant=acme.merchant)


@pytest.fixture
def told(acme: ApiClient, endpoint: Endpoint) -> list[Event]:
    """Three events: one delivered at the second attempt, one sent again by hand, one to come."""
    events = [
        tell(acme.merchant, "cus_1"), tell(acme.merchant, "cus_2", "customer.created"),
        tell(acme.merchant, "cus_3"),
    ]  # fmt: skip
    again, by_hand, _to_come = (Delivery.objects.get(event=event) for event in events)
    first = Delivery.objects.get(pk=again.pk)
    again.status, by_hand.status, by_hand.trigger = "succeeded", "succeeded", "resend"
    again.attempt = 2
    first.status, first.next_attempt_at = "failed", again.scheduled_at
    for row in (again, by_hand):
        row.save()
    first.pk = "whd_000000000000000000000001"
    first.save(force_insert=True)
    return events


def at(acme: ApiClient, endpoint: Endpoint) -> str:
    return f"/panel/{acme.merchant.id}/webhooks/{endpoint.id}"


def links(page: Any) -> list[str]:
    return [unescape(found) for found in LINK.findall(page.content.decode())]


def listed(page: Any) -> list[str]:
    """Return the deliveries that a page lists."""
    return [re.findall("delivery=(whd_[0-9A-Za-z]+)", link)[0] for link in links(page)]


@pytest.mark.parametrize("query", FILTERS, ids=str)
def test_the_page_lists_what_the_api_lists(
    query: dict[str, Any], owner: Client, acme: ApiClient, endpoint: Endpoint, told: list[Event]
) -> None:
    page = owner.get(at(acme, endpoint), query)

    answer = owner_query(acme, endpoint, page)
    of_api = [row["id"] for row in answer["data"] if is_shown(row, query)]
    assert page.status_code == 200
    assert listed(page) == of_api != []


def owner_query(acme: ApiClient, endpoint: Endpoint, page: Any) -> Any:
    return acme.get(f"{PATH}/{endpoint.id}/deliveries?{page.context['list_query']}&limit=25")


def is_shown(row: dict[str, Any], query: dict[str, Any]) -> bool:
    """Without a status a delivery is one row, that of its last attempt."""
    return row["next_attempt_at"] is None or any(name.startswith("status") for name in query)


def test_deliveries_of_one_event_are_found(
    owner: Client, acme: ApiClient, endpoint: Endpoint, told: list[Event]
) -> None:
    page = owner.get(at(acme, endpoint), {"event": told[1].id})

    assert listed(page) == [Delivery.objects.get(event=told[1]).id]
    assert page.context["chosen"].event_id == told[1].id


def test_a_failed_attempt_is_found_though_its_event_arrived_since(
    owner: Client, acme: ApiClient, endpoint: Endpoint, told: list[Event]
) -> None:
    url = at(acme, endpoint)

    assert "whd_000000000000000000000001" not in listed(owner.get(url))
    assert listed(owner.get(url, {"status[]": "failed"})) == ["whd_000000000000000000000001"]


def test_a_link_to_a_delivery_keeps_filters_and_place(
    owner: Client, acme: ApiClient, endpoint: Endpoint, told: list[Event]
) -> None:
    cursor = Delivery.objects.get(event=told[2]).id
    query = f"?status[]=succeeded&event_type=customer.*&starting_after={cursor}"

    [link] = set(links(owner.get(at(acme, endpoint) + query))[:1])

    assert "status%5B%5D=succeeded" in link
    assert f"starting_after={cursor}" in link
    page = owner.get(at(acme, endpoint) + link.partition("#")[0])
    assert page.context["chosen"].id == listed(page)[0]
    assert page.context["form"]["status[]"].value() == ["succeeded"]


def test_the_call_asks_for_the_same(
    owner: Client, acme: ApiClient, endpoint: Endpoint, told: list[Event]
) -> None:
    page = owner.get(at(acme, endpoint), {"status[]": "failed", "delivery": ""})

    assert "/deliveries?status%5B%5D=failed" in page.context["call"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"status[]": "missed"}, "status[]"), ({"status": "missed"}, "status[]"),
        ({"event_type": "no.such"}, "event_type"), ({"trigger": "magic"}, "trigger"),
        ({"event": "evt_none"}, "event"), ({"starting_after": "whd_none"}, "__all__"),
        ({"sort": "amount"}, "__all__"), ({"event": GOOD_CARD}, "__all__"),
    ],
    ids=str,
)  # fmt: skip
def test_a_refusal_stands_at_its_input(
    query: dict[str, str], field: str, owner: Client, acme: ApiClient, endpoint: Endpoint,
    told: list[Event],
) -> None:  # fmt: skip
    page = owner.get(at(acme, endpoint), query)
    turkish = owner.get(at(acme, endpoint), query, headers={"Accept-Language": "tr"})

    assert page.status_code == turkish.status_code == 400
    [[name, reasons]] = page.context["form"].errors.items()
    [reason] = reasons
    assert name == field
    assert str(reason) in unescape(page.content.decode())
    assert str(reason) not in unescape(turkish.content.decode())
    assert listed(page) == []
    assert GOOD_CARD not in page.content.decode()
    # The rest of the page is there.
    assert endpoint.url in page.content.decode()


def test_nothing_that_matches_is_told_apart_from_nothing_at_all(
    owner: Client, acme: ApiClient, endpoint: Endpoint
) -> None:
    url = at(acme, endpoint)
    assert "Nothing was delivered yet" in owner.get(url).content.decode()
    tell(acme.merchant, "cus_1")

    text = owner.get(url, {"status[]": "failed"}).content.decode()

    assert "No delivery matches" in text
    assert "Nothing was delivered yet" not in text


def test_a_walk_that_takes_too_long_is_given_up_in_words(
    owner: Client, acme: ApiClient, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_arguments: object, **_options: object) -> None:
        raise TookTooLong

    monkeypatch.setattr(listing, "page", slow)

    page = owner.get(at(acme, endpoint), {"event_type": "customer.created"})

    assert page.status_code == 400
    assert "This took too long" in page.content.decode()
