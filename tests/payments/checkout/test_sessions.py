"""Checkout sessions as a shop makes, reads and changes them."""

import hmac
from typing import Any

import pytest

from core import clock
from core.keyring import ring
from core.secrets_in_text import hide_secrets
from tests.stage.checkouts import (
    SESSIONS,
    SUCCESS_URL,
    of_amount,
    opened,
    over,
    priced_line,
    session,
    waiting,
)
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, confirmation, line

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400


# --- Three ways to say what is paid ------------------------------------------------------------


def test_an_amount_makes_a_session_with_a_payment_of_its_own(acme: ApiClient) -> None:
    made = opened(acme, success_url=SUCCESS_URL)

    assert list(made.body) == [
        "id", "object", "status", "payment_status", "payment_intent", "amount_subtotal",
        "amount_total", "currency", "surcharge", "url", "success_url", "cancel_url", "expires_at",
        "locale", "client_reference_id", "customer", "customer_email", "customer_details",
        "expiration_reason", "tries", "mode", "ui_mode", "payment_method_types", "submit_type",
        "metadata", "created", "livemode",
    ]  # fmt: skip
    assert (made["object"], made["status"], made["payment_status"]) == (
        "checkout.session", "open", "unpaid",
    )  # fmt: skip
    assert (made["amount_total"], made["amount_subtotal"], made["currency"]) == (
        12500,
        12500,
        "try",
    )
    assert made["expires_at"] - made["created"] == DAY
    assert (made["success_url"], made["customer_details"], made["tries"]) == (SUCCESS_URL, None, 0)
    assert (made["mode"], made["ui_mode"], made["submit_type"]) == ("payment", "hosted_page", "pay")
    payment = acme.payment(made["payment_intent"])
    assert (payment["status"], payment["amount"]) == ("requires_payment_method", 12500)
    assert acme.told(payment["id"]) == ["created"]
    assert acme.events_of(made["id"]) == []


def test_its_address_ends_in_a_secret_that_no_log_shows(acme: ApiClient) -> None:
    made = opened(acme)

    base, _, mac = made["url"].rpartition(".")
    assert base.endswith(f"/pay/{made['id']}")
    assert hmac.compare_digest(mac, ring().mac("link", f"pay|{made['id']}".encode()).hex())
    assert mac not in hide_secrets(f"GET {made['url']} HTTP/1.1")
    assert made["id"] in hide_secrets(f"GET {made['url']} HTTP/1.1")


def test_own_lines_make_the_payments_lines(acme: ApiClient) -> None:
    lines = [line(500, quantity=3), line(700, tax_amount=50)]

    made = acme.post(SESSIONS, {"line_items": lines, "currency": "TRY"})

    assert (made["amount_total"], made["currency"]) == (2250, "try")
    listed = acme.get(f"{SESSIONS}/{made['id']}/line_items")
    assert [one["amount"] for one in listed["data"]] == [1500, 750]
    assert acme.payment(made["payment_intent"])["line_items"] == [
        one["id"] for one in listed["data"]
    ]


def test_lines_as_stripes_sdks_write_them(acme: ApiClient) -> None:
    lines = [priced_line(2000, quantity=2), priced_line(150)]
    lines[0]["price_data"]["product_data"] |= {
        "description": "Thin", "images": ["https://acme.example/1.png"], "metadata": {"a": "b"},
    }  # fmt: skip

    made = acme.post(SESSIONS, {
        "line_items": lines, "mode": "payment", "ui_mode": "hosted",
        "success_url": "https://acme.example/success.html", "payment_method_types": ["card"],
        "submit_type": "auto", "billing_address_collection": "required",
        "customer_creation": "if_required", "allow_promotion_codes": False,
        "automatic_tax": {"enabled": False},
    })  # fmt: skip

    assert (made.status, made["amount_total"], made["currency"]) == (200, 4150, "try")
    listed = acme.get(f"{SESSIONS}/{made['id']}/line_items?limit=1")
    assert (listed["has_more"], listed["data"][0]["quantity"]) == (True, 2)
    last = listed["data"][0]["id"]
    after = acme.get(f"{SESSIONS}/{made['id']}/line_items?starting_after={last}")
    assert [one["unit_amount"] for one in after["data"]] == [150]


def test_a_form_body_as_stripes_sdks_send_it(acme: ApiClient) -> None:
    body = (
        b"mode=payment&success_url=https%3A%2F%2Facme.example%2Fok&line_items[0][quantity]=2"
        b"&line_items[0][price_data][currency]=try&line_items[0][price_data][unit_amount]=2000"
        b"&line_items[0][price_data][product_data][name]=T-shirt&payment_method_types[0]=card"
        b"&automatic_tax[enabled]=false&metadata[order]=7&expand[0]=line_items"
    )
    headers = {
        "authorization": f"Bearer {acme.key}",
        "content-type": "application/x-www-form-urlencoded",
    }

    made = acme.send("POST", SESSIONS, body, headers)

    assert (made.status, made["amount_total"], made["metadata"]) == (200, 4000, {"order": "7"})
    assert made["line_items"]["data"][0]["name"] == "T-shirt"


def test_a_payment_that_waits_for_a_card_gets_a_session(acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"name": "Ayşe"})["id"]
    payment = waiting(acme, amount=900, customer=customer)

    made = over(acme, payment)

    assert (made.status, made["payment_intent"], made["amount_total"]) == (200, payment, 900)
    assert made["customer"] == customer
    assert acme.told(payment) == ["created"]


def test_a_payment_that_failed_gets_a_second_chance(acme: ApiClient, bank: Any) -> None:
    payment = waiting(acme)
    failed = acme.post(f"/v1/payment_intents/{payment}/confirm", confirmation(DECLINED_CARD))
    assert failed["status"] == "requires_payment_method"

    assert over(acme, payment).status == 200


def test_the_session_shows_the_amount_that_the_payment_has_now(acme: ApiClient) -> None:
    made = opened(acme)

    acme.post(f"/v1/payment_intents/{made['payment_intent']}", {"amount": 777})

    assert session(acme, made["id"])["amount_total"] == 777


def test_the_payment_is_made_as_the_session_says(acme: ApiClient) -> None:
    made = opened(
        acme,
        payment_intent_data={
            "capture_method": "manual", "description": "Order 7", "metadata": {"order": "7"},
        },
        payment_method_options={
            "card": {"three_d_secure": "required", "installments": {"enabled": True, "max": 3}}
        },
        metadata={"cart": "12"},
    )  # fmt: skip

    payment = acme.payment(made["payment_intent"])
    assert (payment["capture_method"], payment["description"]) == ("manual", "Order 7")
    assert (payment["metadata"], made["metadata"]) == ({"order": "7"}, {"cart": "12"})
    assert payment["three_d_secure"]["requested"] == "required"


def test_what_is_known_of_the_payer_is_given_once(acme: ApiClient) -> None:
    known = {"name": "Ayşe", "email": "Ayse@Example.com", "address": {"city": "İzmir"}}

    made = opened(
        acme, billing_details=known, customer_email="ayse@example.com", client_reference_id="c7"
    )

    assert made["customer_email"] == "ayse@example.com"
    assert (made["client_reference_id"], made["customer_details"]) == ("c7", None)


@pytest.mark.parametrize("lives", [300, 30 * DAY])
def test_it_lives_from_five_minutes_to_thirty_days(acme: ApiClient, lives: int) -> None:
    at = clock.unix(clock.now()) + lives + (2 if lives == 300 else 0)

    assert opened(acme, expires_at=at)["expires_at"] == at


# --- Reading and changing ----------------------------------------------------------------------


def test_the_lines_are_shown_when_they_are_expanded(acme: ApiClient) -> None:
    made = acme.post(
        SESSIONS, {"line_items": [line(500)], "currency": "try", "expand": ["line_items"]}
    )

    assert made["line_items"]["url"] == f"{SESSIONS}/{made['id']}/line_items"
    assert [one["object"] for one in made["line_items"]["data"]] == ["line_item"]
    shown = acme.get(f"{SESSIONS}?expand[]=data.line_items&expand[]=data.payment_intent")
    assert shown["data"][0]["line_items"]["has_more"] is False
    assert shown["data"][0]["payment_intent"]["object"] == "payment_intent"
    assert "line_items" not in session(acme, made["id"]).body


def test_an_existing_payments_two_hundred_lines_are_shown_by_a_hundred(acme: ApiClient) -> None:
    payment = waiting(acme, amount=200, line_items=[line(1)] * 200)

    made = over(acme, payment, expand=["line_items"])

    assert len(made["line_items"]["data"]) == 100
    assert made["line_items"]["has_more"] is True
    page = acme.get(f"{SESSIONS}/{made['id']}/line_items?limit=100")
    assert page["data"] == made["line_items"]["data"]


def test_sessions_are_listed_newest_first_and_filtered(acme: ApiClient, globex: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"name": "Ayşe"})["id"]
    first, second = opened(acme), opened(acme, customer=customer)
    opened(globex)
    acme.post(f"{SESSIONS}/{first['id']}/expire")

    def ids(query: str) -> list[str]:
        return [one["id"] for one in acme.get(f"{SESSIONS}{query}")["data"]]

    assert ids("") == [second["id"], first["id"]]
    assert ids("?status=open") == [second["id"]]
    assert ids(f"?payment_intent={first['payment_intent']}") == [first["id"]]
    assert ids(f"?customer={customer}") == [second["id"]]
    assert ids("?sort=created&limit=1") == [first["id"]]
    assert ids(f"?created[gt]={second['created']}") == []


def test_only_metadata_changes_also_after_the_end(acme: ApiClient) -> None:
    made = opened(acme, metadata={"a": "1", "b": "2"})
    acme.post(f"{SESSIONS}/{made['id']}/expire")

    changed = acme.post(f"{SESSIONS}/{made['id']}", {"metadata": {"a": "", "c": "3"}})

    assert changed["metadata"] == {"b": "2", "c": "3"}
    refused = acme.post(f"{SESSIONS}/{made['id']}", {"success_url": None})
    assert refused.refusal == (400, "parameter_unknown", "success_url")


def test_another_merchant_finds_nothing(acme: ApiClient, globex: ApiClient) -> None:
    made = opened(acme)
    path = f"{SESSIONS}/{made['id']}"

    answers = [
        globex.get(path), globex.get(f"{path}/line_items"), globex.post(path),
        globex.post(f"{path}/expire"), over(globex, made["payment_intent"]),
    ]  # fmt: skip

    assert [one.refusal for one in answers] == [
        *[(404, "resource_missing", None)] * 4,
        (404, "resource_missing", "payment_intent"),
    ]


def test_a_key_needs_the_scope_of_payments(acme: ApiClient) -> None:
    made = opened(acme)
    reader, stranger = (
        acme.with_scopes(payment_intents="read"),
        acme.with_scopes(payment_intents="none"),
    )

    assert session(reader, made["id"]).status == 200
    assert reader.post(SESSIONS, of_amount()).refusal[:2] == (403, "permission_denied")
    assert session(stranger, made["id"]).refusal[:2] == (403, "permission_denied")


def test_a_retry_with_the_same_key_makes_one_session(acme: ApiClient) -> None:
    first = acme.post(SESSIONS, of_amount(), idempotency_key="k")
    again = acme.post(SESSIONS, of_amount(), idempotency_key="k")

    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(acme.get(SESSIONS)["data"]) == 1
