"""The schema's examples: a story that was told once, and what the service answered to it.

`RECORD_EXAMPLES=1` writes docs/openapi-examples.json anew; then run `manage.py write_schema`.
"""

import os
from typing import Any
from unittest.mock import patch

import orjson
import pytest

from config.openapi.operations import EXAMPLES, examples
from core import clock
from ledger import book
from merchants.models import ApiKey
from payments.installments import sandbox_plans
from testbank.behaviours import DISPUTED_AFTER
from tests.stage import described
from tests.stage.bank_disputes import DISPUTED
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SESSIONS, SUCCESS_URL
from tests.stage.client import REFUNDS, Answer, ApiClient
from tests.stage.factories import line, payment, payment_method
from tests.stage.notifier import take_in
from tests.stage.topups import TOPUPS
from tests.stage.transfers import PAYOUTS, rich

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS, ENDPOINTS = "/v1/payment_intents", "/v1/webhook_endpoints"
SECRET = "whsec_shown_this_once"
MANUAL = {"capture_method": "manual"}
QUOTE = "installments?bin=552879&amount=10000&currency=try"


class Storyteller:
    """Calls the API, and remembers the first answer of each operation."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        self.told: dict[str, Any] = {}

    def get(self, address: str) -> Answer:
        return self._tell("GET", address, self.client.get(address))

    def delete(self, address: str) -> Answer:
        return self._tell("DELETE", address, self.client.delete(address))

    def post(self, address: str, body: dict[str, Any] | None = None) -> Answer:
        return self._tell("POST", address, self.client.post(address, body), body)

    def refused(self, answer: Answer) -> None:
        self.told.setdefault("refusals", {})[str(answer.status)] = answer.body

    def _tell(
        self, method: str, address: str, answer: Answer, body: dict[str, Any] | None = None
    ) -> Answer:
        assert answer.status == 200, answer.body
        operation = described.operation(method, address)
        sent = {"request": body} if body else {}
        # No secret in a file, though it be of a database that is gone.
        told = {**answer.body, **({"secret": SECRET} if "secret" in answer.body else {})}
        if answer.body.get("object") == "checkout.session" and answer["url"]:
            told["url"] = f"{answer['url'].rpartition('.')[0]}.secret_of_the_page"
        self.told.setdefault(operation["operationId"], {**sent, "response": told})
        return answer


def tell(client: ApiClient, settings: Any) -> dict[str, Any]:
    """Do everything that the API can do, once."""
    story = Storyteller(client)
    sandbox_plans.give(client.merchant)
    endpoint = about_an_endpoint(story)
    about_payments(story, about_a_customer(story))
    about_checkout(story)
    about_refunds(story)
    about_a_dispute(story)
    about_payouts(story)
    about_topups(story)
    about_events(story, endpoint)
    for address in ("balance", "merchant", QUOTE, "search?q=Order", "request_logs?limit=2"):
        story.get(f"/v1/{address}")
    newest = story.get("/v1/balance_transactions?type=charge&limit=2")["data"][0]["id"]
    story.get(f"/v1/balance_transactions/{newest}")
    log = story.client.get("/v1/request_logs?limit=1")["data"][0]["id"]
    story.get(f"/v1/request_logs/{log}")
    story.delete(f"{ENDPOINTS}/{endpoint}")
    about_refusals(story, settings)
    return story.told


def about_an_endpoint(story: Storyteller) -> str:
    url = "https://acme.example/webhooks"
    endpoint = story.post(ENDPOINTS, {"url": url, "enabled_events": ["*"]})["id"]
    story.post(f"{ENDPOINTS}/{endpoint}", {"description": "Orders"})
    story.post(f"{ENDPOINTS}/{endpoint}/roll_secret", {"previous_secret_expires_in": 3600})
    story.get(f"{ENDPOINTS}/{endpoint}")
    story.get(ENDPOINTS)
    return endpoint


def about_a_customer(story: Storyteller) -> str:
    body = {"email": "ayse@example.com", "name": "Ayşe Yılmaz", "metadata": {"number": "7"}}
    customer = story.post("/v1/customers", body)["id"]
    story.post(f"/v1/customers/{customer}", {"phone": "+90 212 000 00 00"})
    story.get(f"/v1/customers/{customer}")
    story.get("/v1/customers?email=ayse@example.com")
    short_lived = story.client.post("/v1/customers")["id"]
    story.delete(f"/v1/customers/{short_lived}")
    return customer


def about_payments(story: Storyteller, customer: str) -> None:
    order = {"customer": customer, "description": "Order 7", "metadata": {"order": "7"}}
    paid = story.post(PAYMENTS, payment(line_items=[line(12500)], **order))["id"]
    story.post(f"{PAYMENTS}/{paid}", {"description": "Order 7, with a card of thanks"})
    story.get(f"{PAYMENTS}/{paid}")
    story.get(f"{PAYMENTS}?limit=2&status=succeeded&include[]=total_count")
    began = story.client.post(PAYMENTS, {"amount": 9900, "currency": "try", **MANUAL})["id"]
    story.post(f"{PAYMENTS}/{began}/confirm", {"payment_method_data": payment_method()})
    story.post(f"{PAYMENTS}/{began}/capture", {"amount_to_capture": 5000})
    other = story.client.pay(**MANUAL)["id"]
    story.post(f"{PAYMENTS}/{other}/cancel", {"cancellation_reason": "requested_by_customer"})


def about_checkout(story: Storyteller) -> None:
    body = {
        "line_items": [line(6250, quantity=2)],
        "currency": "try",
        "success_url": SUCCESS_URL,
        "cancel_url": "https://acme.example/cart",
        "client_reference_id": "cart-7",
    }
    session = story.post(SESSIONS, body)["id"]
    story.get(f"{SESSIONS}/{session}")
    story.post(f"{SESSIONS}/{session}", {"metadata": {"order": "7"}})
    story.get(f"{SESSIONS}/{session}/line_items")
    story.post(f"{SESSIONS}/{session}/expire")
    story.get(f"{SESSIONS}?status=expired&limit=2")


def about_refunds(story: Storyteller) -> None:
    paid = story.client.pay()["id"]
    body = {"payment_intent": paid, "amount": 4000, "reason": "requested_by_customer"}
    refund = story.post(REFUNDS, body)["id"]
    story.get(f"{REFUNDS}/{refund}")
    story.post(f"{REFUNDS}/{refund}", {"metadata": {"return": "12"}})
    story.get(f"{REFUNDS}?payment_intent={paid}")
    with patch.object(book, "refund", side_effect=book.InsufficientFunds):
        waits = story.client.refund(paid, 1000)["id"]
    story.post(f"{REFUNDS}/{waits}/cancel")


def about_a_dispute(story: Storyteller) -> None:
    for number in (DISPUTED, DISPUTED):
        story.client.pay(number)
    clock.advance(DISPUTED_AFTER)
    take_in()
    rows = story.get("/v1/disputes?status=needs_response&sort=evidence_due_by")["data"]
    dispute, other = (row["id"] for row in rows)
    story.get(f"/v1/disputes/{dispute}")
    evidence = {"shipping_carrier": "Yurt Kargo", "shipping_date": "2026-11-02"}
    story.post(f"/v1/disputes/{dispute}", {"evidence": evidence, "submit": True})
    story.post(f"/v1/disputes/{other}/close")


def about_payouts(story: Storyteller) -> None:
    rich(story.client)
    body = {"amount": 5000, "currency": "try", "statement_descriptor": "ACME MAY"}
    payout = story.post(PAYOUTS, body)["id"]
    story.get(f"{PAYOUTS}/{payout}")
    story.get(f"{PAYOUTS}?status=pending")
    story.post(f"{PAYOUTS}/{payout}", {"description": "The sales of May"})
    story.post(f"{PAYOUTS}/{payout}/cancel")


def about_topups(story: Storyteller) -> None:
    body = {"amount": 50000, "currency": "try", "description": "For refunds"}
    topup = story.post(TOPUPS, body)["id"]
    story.get(f"{TOPUPS}/{topup}")
    story.get(f"{TOPUPS}?status=pending")
    story.post(f"{TOPUPS}/{topup}", {"description": "For the refunds of May"})
    story.post(f"{TOPUPS}/{topup}/cancel")


def about_events(story: Storyteller, endpoint: str) -> None:
    event = story.get("/v1/events?limit=1")["data"][0]["id"]
    story.get(f"/v1/events/{event}")
    story.get(f"/v1/events/{event}/deliveries")
    story.get(f"{ENDPOINTS}/{endpoint}/deliveries?limit=1")
    story.post(f"/v1/events/{event}/resend", {"webhook_endpoint": endpoint})
    story.post(f"{ENDPOINTS}/{endpoint}/replay")


def about_refusals(story: Storyteller, settings: Any) -> None:
    client = story.client
    story.refused(client.get("/v1/balance?colour=blue"))
    story.refused(client.get(f"{PAYMENTS}/pi_unknown"))
    story.refused(client.get("/v1/balance", authorization=""))
    story.refused(client.post("/v1/customers", b"<name/>", content_type="text/xml"))
    too_large = b'{"name": "%s"}' % (b"x" * settings.BODY_MAX_BYTES)
    story.refused(client.post("/v1/customers", too_large))
    ApiKey.objects.update(scopes={"customers": "read"})
    story.refused(client.post("/v1/customers", {"name": "Ayşe Yılmaz"}))
    settings.RATE_LIMIT_PER_SECOND = 1
    client.get("/v1/balance")
    story.refused(client.get("/v1/balance"))


def test_the_story_of_the_examples_can_be_told(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    told = tell(acme, settings)

    if os.environ.get("RECORD_EXAMPLES"):
        EXAMPLES.write_bytes(
            orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        examples.cache_clear()
    assert told.keys() == examples().keys()
    assert told["refusals"].keys() == examples()["refusals"].keys()


def test_the_examples_are_still_what_the_service_answers() -> None:
    recorded = {name: example for name, example in examples().items() if name != "refusals"}

    for name, example in recorded.items():
        described.check_operation(name, example.get("request"), 200, example["response"])
    for status, body in examples()["refusals"].items():
        described.check_operation("customers_update", None, int(status), body)
