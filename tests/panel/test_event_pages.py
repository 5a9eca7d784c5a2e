"""Events and deliveries in the panel: found by the API's filters, shown, sent again once."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import ids
from merchants.models import AuditEntry
from panel.merchants.differences import Difference, differences
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import created, tell
from tests.stage.teams import person, signed_in
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LINK = re.compile(r'href="/panel/\w+/events/(evt_\w+)"')


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def support(acme: ApiClient) -> Client:
    return signed_in(person("sue@acme.example", (acme.merchant, "support")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}", *parts])


def listed(client: Client, acme: ApiClient, **query: str) -> list[str]:
    page = client.get(at(acme, "events"), query, follow=True)
    assert page.status_code == 200
    return LINK.findall(page.content.decode())


def resent() -> int:
    return Delivery.objects.filter(trigger="resend").count()


# --- The list -----------------------------------------------------------------------------------


def test_events_are_listed_newest_first_and_narrowed_as_the_api_narrows_them(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    EndpointFactory(merchant=acme.merchant, status="failing")
    one = tell(acme.merchant, "cus_1", "customer.created").id
    two = tell(acme.merchant, "cus_2").id
    tell(globex.merchant, "cus_3")

    every = listed(owner, acme)
    assert [event for event in every if event in (one, two)] == [two, one]
    assert listed(owner, acme, type="customer.created") == [one]
    assert set(listed(owner, acme, type="customer.*")) == {one, two}
    assert listed(owner, acme, aggregate_id="cus_2", type="") == [two]
    assert set(listed(owner, acme, delivery_success="false")) == {one, two}
    assert listed(owner, acme, created_from="2050-01-01") == []
    assert set(every) == set(listed(owner, acme, created_to="2050-01-01"))


def test_the_call_of_a_list_has_its_filter(owner: Client, acme: ApiClient) -> None:
    tell(acme.merchant, "cus_1")

    asked = {
        name: owner.get(at(acme, name), query, follow=True).context["call"]
        for name, query in {
            "events": {"type": "customer.updated", "aggregate_id": ""},
            "request_logs": {"status": "4xx", "path": ""},
        }.items()
    }

    assert "/v1/events?type=customer.updated'" in asked["events"]
    assert "/v1/request_logs?status=4xx'" in asked["request_logs"]


def test_an_event_leads_to_its_object_and_its_request(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    created(acme)
    paid = acme.pay()["id"]
    [event, *_] = acme.events_of(paid)
    sent = Delivery.objects.filter(event=event["id"])[0]

    pages = ["events", f"events/{event['id']}", f"deliveries/{sent.id}"]
    shown = {page: owner.get(at(acme, page)).content.decode() for page in pages}
    request = owner.get(at(acme, "request_logs", event["request_id"])).content.decode()

    for page, text in shown.items():
        assert f'href="{at(acme, "payments", paid)}"' in text, page
    assert f'href="{at(acme, "request_logs", event["request_id"])}"' in shown[pages[1]]
    assert f'href="{at(acme, "deliveries", sent.id)}"' in request


def test_days_become_instants_of_the_merchants_zone_and_are_shown_again(
    owner: Client, acme: ApiClient
) -> None:
    days = {"created_from": "2026-01-31", "created_to": "2026-02-01"}
    led = owner.get(at(acme, "events"), days)
    page = owner.get(led.url).content.decode()

    # Istanbul is three hours ahead; both days are whole.
    assert "created%5Bgte%5D=1769806800&created%5Blt%5D=1769979600" in led.url
    assert 'value="2026-01-31"' in page
    assert 'value="2026-02-01"' in page


def test_pages_lead_to_older_and_newer_events(owner: Client, acme: ApiClient) -> None:
    for number in range(30):
        tell(acme.merchant, f"cus_{number}")

    first = owner.get(at(acme, "events"), {"type": "customer.updated"})
    older = re.findall(r'href="([^"]*starting_after=[^"]*)"', first.content.decode())[0]
    second = owner.get(at(acme, "events") + older.replace("&amp;", "&"))

    assert len(LINK.findall(first.content.decode())) == 25
    assert len(LINK.findall(second.content.decode())) == 5
    assert "ending_before=" in second.content.decode()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"type": "no.such"}, "type"),
        ({"aggregate_type": "<script>"}, "aggregate_type"),
        ({"delivery_success": "perhaps"}, "delivery_success"),
        ({"created_from": "2026-02-30"}, "created_from"),
        ({"created[gte]": "x"}, "created_from"),
        ({"created[gte]": "9" * 40}, "created_from"),
        ({"starting_after": "evt_x"}, "__all__"),
        ({"starting_after": "evt_x", "ending_before": "evt_y"}, "__all__"),
    ],
)
def test_a_refusal_stands_at_its_input_without_rows(
    owner: Client, acme: ApiClient, query: dict[str, str], field: str
) -> None:
    tell(acme.merchant, "cus_1")

    page = owner.get(at(acme, "events"), query)

    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert LINK.findall(page.content.decode()) == []


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("text", ["4242424242424242", "4242 4242 4242 4242", "the key"])
def test_a_card_and_a_key_are_refused_and_never_repeated(
    owner: Client, acme: ApiClient, text: str
) -> None:
    text = acme.key if text == "the key" else text

    page = owner.get(at(acme, "events"), {"aggregate_id": text})

    assert page.status_code == 400
    assert "in this address" in page.content.decode()
    assert text not in page.content.decode()


@pytest.mark.parametrize("query", ["limit=1e9", "limit=100", "merchant=x&expand[]=y", "q=%ff"])
def test_what_the_page_does_not_know_is_ignored(owner: Client, acme: ApiClient, query: str) -> None:
    tell(acme.merchant, "cus_1")

    assert owner.get(f"{at(acme, 'events')}?{query}").status_code == 200


# --- One event, one delivery ---------------------------------------------------------------------


def test_a_difference_names_each_field_that_changed() -> None:
    now = {"name": "New", "metadata": {"a": "1", "b": None}, "tags": [1]}

    found = differences({"name": "Old", "metadata": {"a": None}, "tags": []}, now)

    assert found == [
        Difference("name", "Old", "New"),
        Difference("metadata.a", "–", "1"),
        Difference("tags", "[]", "[\n 1\n]"),
    ]


def test_support_sees_an_event_and_its_deliveries_and_sends_nothing(
    support: Client, acme: ApiClient
) -> None:
    EndpointFactory(merchant=acme.merchant)
    event = tell(acme.merchant, "cus_1")
    delivery = Delivery.objects.get(event=event)

    page = support.get(at(acme, "events", event.id)).content.decode()
    shown = support.get(at(acme, "deliveries", delivery.id)).content.decode()
    sent = support.post(at(acme, "events", event.id, "resend"), {"token": "t"})

    assert delivery.id in page
    assert "Send again" not in page + shown
    assert sent.status_code == 403
    assert resent() == 0


def test_a_delivery_shows_the_form_of_the_signature_without_a_value(
    owner: Client, acme: ApiClient
) -> None:
    EndpointFactory(merchant=acme.merchant)
    event = tell(acme.merchant, "cus_1")
    delivery = Delivery.objects.get(event=event)

    page = owner.get(at(acme, "deliveries", delivery.id)).content.decode()

    assert "PF-Signature: t=…,v1=…" in page
    assert f"PF-Delivery-Id: {delivery.id}" in page
    assert "whsec_" not in page


@pytest.mark.parametrize("role", ["owner", "support"])
def test_a_delivery_to_a_deleted_endpoint_is_shown(acme: ApiClient, role: str) -> None:
    row = EndpointFactory(merchant=acme.merchant)
    event = tell(acme.merchant, "cus_1")
    acme.delete(f"/v1/webhook_endpoints/{row.id}")
    client = signed_in(person("x@acme.example", (acme.merchant, role)))

    page = client.get(at(acme, "deliveries", Delivery.objects.get(event=event).id))

    assert page.status_code == 200
    assert "Send again" not in page.content.decode()


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("place", ["events", "deliveries", "resend", "chosen", "cursor"])
def test_foreign_unknown_and_malformed_ids_are_alike(
    owner: Client, acme: ApiClient, globex: ApiClient, place: str
) -> None:
    own = EndpointFactory(merchant=acme.merchant).id
    EndpointFactory(merchant=globex.merchant)
    event = tell(globex.merchant, "cus_1")
    kind = "events" if place in ("events", "resend") else "deliveries"
    foreign = event.id if kind == "events" else Delivery.objects.get(event=event).id
    page = at(acme, "webhooks", own)

    for thing in (foreign, ids.new(foreign[:3]), "x", "%00", "a" * 3000):
        urls = {
            "events": at(acme, "events", thing), "deliveries": at(acme, "deliveries", thing),
            "resend": at(acme, "events", thing, "resend"), "chosen": f"{page}?delivery={thing}",
            "cursor": f"{page}?starting_after={thing}",
        }  # fmt: skip
        answer = owner.get(urls[place])
        # An address with a NUL is refused before any page is asked.
        is_no_place = place == "cursor" and thing != "%00"
        assert answer.status_code == (400 if is_no_place else 404), thing
        assert foreign not in answer.content.decode().replace(urls[place], "")


# --- Sending again -------------------------------------------------------------------------------


def test_an_event_is_sent_again_once(owner: Client, acme: ApiClient) -> None:
    row = EndpointFactory(merchant=acme.merchant)
    event = tell(acme.merchant, "cus_1")
    Delivery.objects.filter(event=event).update(status="succeeded")
    url = at(acme, "events", event.id, "resend")
    sent = {"token": owner.get(url).context["token"], "webhook_endpoint": row.id}

    first, again = owner.post(url, sent), owner.post(url, sent)
    other = owner.post(url, {**sent, "webhook_endpoint": ""})

    assert (first.status_code, first.url) == (303, at(acme, "events", event.id))
    assert (again.status_code, again.url) == (303, first.url)
    assert other.status_code == 409
    assert resent() == 1
    assert [row.action for row in AuditEntry.objects.filter(actor="user")] == ["event.resent"]


@pytest.mark.parametrize("endpoint", ["a/b", "we_/../x", "we_a\nb", "\n", "we_" + "a" * 8000])
def test_an_endpoint_that_is_no_id_is_refused_on_the_way_back_too(
    owner: Client, acme: ApiClient, endpoint: str
) -> None:
    event = tell(acme.merchant, "cus_1")
    sent = {"token": "t", "webhook_endpoint": endpoint, "back": "endpoint"}

    answer = owner.post(at(acme, "events", event.id, "resend"), sent)

    assert answer.status_code == 400
    assert resent() == 0


def test_the_button_of_an_endpoints_page_leads_back_to_it(owner: Client, acme: ApiClient) -> None:
    row = EndpointFactory(merchant=acme.merchant)
    event = tell(acme.merchant, "cus_1")
    page = at(acme, "webhooks", row.id)
    sent = {
        "token": owner.get(page).context["token"], "webhook_endpoint": row.id, "back": "endpoint",
    }  # fmt: skip

    answer = owner.post(at(acme, "events", event.id, "resend"), sent)

    assert (answer.status_code, answer.url) == (303, page)


@pytest.mark.parametrize("where", ["foreign", "unknown", "malformed", "disabled", "deaf"])
def test_an_endpoint_that_cannot_be_sent_to_is_refused_in_words(
    owner: Client, acme: ApiClient, globex: ApiClient, where: str
) -> None:
    event = tell(acme.merchant, "cus_1")
    places: dict[str, Any] = {
        "foreign": EndpointFactory(merchant=globex.merchant).id, "unknown": ids.new("we"),
        "malformed": "'\"<b>",
        "disabled": EndpointFactory(merchant=acme.merchant, status="disabled").id,
        "deaf": EndpointFactory(merchant=acme.merchant, enabled_events=["refund.created"]).id,
    }  # fmt: skip
    sent = {"token": "t", "webhook_endpoint": places[where], "back": "endpoint"}

    answer = owner.post(at(acme, "events", event.id, "resend"), sent)

    assert answer.status_code == 400
    assert resent() == 0


def test_nobody_to_send_to_is_said(owner: Client, acme: ApiClient) -> None:
    event = tell(acme.merchant, "cus_1")

    answer = owner.post(at(acme, "events", event.id, "resend"), {"token": "t"})

    assert answer.status_code == 400
    assert "listens for this event" in answer.content.decode()


# --- The cost -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["webhooks", "endpoint", "events", "event"])
def test_much_takes_no_more_statements_than_little(
    owner: Client, acme: ApiClient, page: str
) -> None:
    rows = [EndpointFactory(merchant=acme.merchant, status="failing") for _ in range(4)]
    rows[0].status = Endpoint.Status.ENABLED
    rows[0].save()
    for number in range(30):
        event = tell(acme.merchant, f"cus_{number}")
    url = {
        "webhooks": at(acme, "webhooks"), "endpoint": at(acme, "webhooks", rows[0].id),
        "events": at(acme, "events"), "event": at(acme, "events", event.id),
    }[page]  # fmt: skip
    owner.get(url)

    with CaptureQueriesContext(connection) as statements:
        shown = owner.get(url)

    assert shown.status_code == 200
    assert 0 < len(statements) <= 15
