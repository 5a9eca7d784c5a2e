"""The panel's search: what it finds, for whom, and what it does not repeat."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from merchants import invitations
from merchants.models import AuditEntry, RequestLog
from panel.merchants import search
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, PaymentFactory, payment
from tests.stage.hooks import created, tell
from tests.stage.teams import person, signed_in
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def client_of(acme: ApiClient, role: str = "owner") -> Client:
    return signed_in(person(f"{role}@x.example", (acme.merchant, role)))


def text_of(client: Client, acme: ApiClient, q: str, **headers: str) -> str:
    address = f"/panel/{acme.merchant.id}/search"
    page = client.get(address, {"q": q}, headers=headers, follow=True)
    assert page.status_code == 200, page.content.decode()
    return page.content.decode()


def test_a_payment_is_found_by_id_email_and_description(
    acme: ApiClient, bank: BankTransport
) -> None:
    client = client_of(acme)
    body = payment(description="Order #1000")
    body["payment_method_data"]["billing_details"]["email"] = "Payer@Example.com"
    paid = acme.post("/v1/payment_intents", body, idempotency_key="k").body

    for q in (paid["id"], f"  {paid['id']} ", "payer@example.com", "order #1"):
        assert f"<code>{paid['id']}</code>" in text_of(client, acme, q), q


def test_a_whole_id_leads_to_the_page_of_its_object(acme: ApiClient) -> None:
    client, paid = client_of(acme), PaymentFactory(merchant=acme.merchant)
    found = f"/panel/{acme.merchant.id}/search"

    answer = client.get(found, {"q": f" {paid.id} "})
    part = client.get(found, {"q": paid.id}, headers={"HX-Request": "true"})

    assert (answer.status_code, answer["Location"]) == (
        302, f"/panel/{acme.merchant.id}/payments/{paid.id}",
    )  # fmt: skip
    assert f"<code>{paid.id}</code>" in part.content.decode()
    assert client.get(found, {"q": paid.id[:-1]}).status_code == 200


def test_a_search_that_sleeps_is_canceled(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(*_: Any, **__: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(20)")

    monkeypatch.setattr(search.lists, "merged", sleep)
    client = client_of(acme)

    page = client.get(f"/panel/{acme.merchant.id}/search", {"q": "order"})

    assert page.status_code == 400
    assert "This took too long" in page.content.decode()


def test_a_thing_of_every_other_kind_is_found_by_its_id(
    acme: ApiClient, bank: BankTransport
) -> None:
    client = client_of(acme)
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="k").body
    refund = acme.post("/v1/refunds", {"payment_intent": paid["id"]}, idempotency_key="r").body
    customer = acme.post("/v1/customers", {"email": "ada@example.com"}).body
    hook = created(acme).body
    event = acme.get("/v1/events").body["data"][0]
    moved = acme.get("/v1/balance_transactions").body["data"][0]

    shown = [one["id"] for one in (refund, customer, hook, event, moved)]
    for found in [*shown, acme.merchant.api_keys.get().id]:
        assert f"<code>{found}</code>" in text_of(client, acme, found), found


def test_what_only_the_panel_names_is_found_and_leads_to_its_page(
    acme: ApiClient, bank: BankTransport
) -> None:
    client = client_of(acme)
    created(acme)
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="k").body
    refund = acme.post("/v1/refunds", {"payment_intent": paid["id"]}, idempotency_key="r").body
    owner = acme.merchant.members.get(user__email="owner@acme.example")
    invited = invitations.invite(owner, email="new@x.example", role="finance").invitation
    listed = {
        paid["latest_attempt"]: f"/payments/{paid['id']}",
        invited.id: "/team",
    }
    opened = {
        refund["id"]: f"/refunds/{refund['id']}",
        (sent := Delivery.objects.all()[0].id): f"/deliveries/{sent}",
        (row := AuditEntry.objects.filter(merchant=acme.merchant)[0].id): f"/audit_log/{row}",
        acme.merchant.id: "",
    }

    for found, way in listed.items():
        page = text_of(client, acme, found)
        assert f'href="/panel/{acme.merchant.id}{way}"><code>' in page, found
    for found, way in opened.items():
        answer = client.get(f"/panel/{acme.merchant.id}/search", {"q": found})
        assert answer["Location"] == f"/panel/{acme.merchant.id}{way}", found
    assert "Nothing was found" in text_of(client_of(acme, "support"), acme, row)


def test_only_the_merchants_own_is_found(acme: ApiClient, globex: ApiClient) -> None:
    theirs = PaymentFactory(merchant=globex.merchant, description="Order #1000")
    hook = created(globex, url="https://globex.example/hooks")["id"]

    client = client_of(acme)

    told = Delivery.objects.get(event=tell(globex.merchant, "cus_1"))
    others = (globex.merchant.id, globex.merchant.api_keys.get().id, told.id)
    for q in (theirs.id, "order", hook, *others):
        assert "Nothing was found" in text_of(client, acme, q), q


@pytest.mark.parametrize(
    ("role", "sees"),
    [
        ("owner", {"req", "we", "key"}), ("developer", {"req", "we", "key"}),
        ("finance", set()), ("accountant", set()), ("support", {"req"}),
    ],
)  # fmt: skip
def test_a_role_finds_what_it_may_see(acme: ApiClient, role: str, sees: set[str]) -> None:
    hook, key = created(acme)["id"], acme.merchant.api_keys.get().id
    request = _logged(acme)
    client = client_of(acme, role)

    found = {
        one.partition("_")[0]
        for one in (hook, key, request)
        if f"<code>{one}</code>" in text_of(client, acme, one)
    }

    assert found == sees


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "number",
    [GOOD_CARD, "4242 4242 4242 4242", "card 4242-4242-4242-4242 please", "%34242424242424242"],
)
def test_a_card_number_is_refused_and_not_repeated(acme: ApiClient, number: str) -> None:
    page = client_of(acme).get(f"/panel/{acme.merchant.id}/search", {"q": number})

    assert page.status_code == 400
    text = page.content.decode()
    assert "looks like a card number" in text
    assert "4242" not in text


def test_the_sign_in_does_not_repeat_a_card_number(acme: ApiClient) -> None:
    way_in = Client().get(f"/panel/{acme.merchant.id}/search", {"q": GOOD_CARD}).url

    assert GOOD_CARD not in way_in


def test_a_secret_key_is_refused_and_not_repeated(acme: ApiClient) -> None:
    page = client_of(acme).get(f"/panel/{acme.merchant.id}/search", {"q": acme.key})

    assert page.status_code == 400
    assert acme.key not in page.content.decode()


def test_stored_texts_are_texts_on_the_page(acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant, description='"><img src=x onerror=alert(1)>')

    text = text_of(client_of(acme), acme, '"><img')

    assert "<img src=x" not in text
    assert "&quot;&gt;&lt;img src=x" in text


def test_htmx_gets_the_results_alone(acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant, description="Order #1000")

    part = text_of(client_of(acme), acme, "order", **{"HX-Request": "true"})

    assert "Order #1000" in part
    assert "<html" not in part


def test_more_than_a_page_is_walked_by_its_links(acme: ApiClient) -> None:
    for number in range(30):
        PaymentFactory(merchant=acme.merchant, description=f"Order {number:02}")
    client = client_of(acme)
    first = client.get(f"/panel/{acme.merchant.id}/search", {"q": "order"})
    last_id = first.context["rows"][-1].id

    second = client.get(
        f"/panel/{acme.merchant.id}/search", {"q": "order", "starting_after": last_id}
    )

    orders = [f"Order {number:02}" for number in range(29, -1, -1)]
    assert [row.text for row in first.context["rows"]] == orders[:25]
    assert [row.text for row in second.context["rows"]] == orders[25:]
    assert 'rel="next"' in first.content.decode()
    assert 'rel="prev"' not in first.content.decode()
    assert 'rel="prev"' in second.content.decode()
    assert 'rel="next"' not in second.content.decode()


@pytest.mark.parametrize("cursor", ["starting_after", "ending_before"])
def test_a_cursor_that_is_not_there_is_told_in_words(acme: ApiClient, cursor: str) -> None:
    page = client_of(acme).get(f"/panel/{acme.merchant.id}/search", {"q": "x", cursor: "pi_no"})

    assert page.status_code == 400
    assert "Search again" in page.content.decode()


@pytest.mark.parametrize("q", ["a" * 256, "a" * 8000, "é" * 256])
def test_a_text_that_is_too_long_is_told(acme: ApiClient, q: str) -> None:
    page = client_of(acme).get(f"/panel/{acme.merchant.id}/search", {"q": q})

    assert page.status_code == 400


@pytest.mark.parametrize("q", ["%", "_", "pi_", "\ud7ff", "' OR 1=1 --", "‮x", "req_", "mer_x", "@"])
def test_an_odd_text_finds_nothing(acme: ApiClient, q: str) -> None:
    assert "Nothing was found" in text_of(client_of(acme), acme, q)


def _logged(acme: ApiClient) -> str:
    row = RequestLog.objects.filter(merchant=acme.merchant).first()
    return row.id if row else acme.get("/v1/balance").headers["Request-Id"]
