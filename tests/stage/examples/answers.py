"""Everything that the API can do, once."""

from unittest.mock import patch

from core import clock
from ledger import book
from payments.installments import sandbox_plans
from testbank.behaviours import DISPUTED_AFTER
from tests.stage.bank_disputes import DISPUTED
from tests.stage.checkouts import SESSIONS, SUCCESS_URL
from tests.stage.client import REFUNDS
from tests.stage.examples.storyteller import Storyteller
from tests.stage.factories import line, payment, payment_method
from tests.stage.notifier import take_in
from tests.stage.topups import TOPUPS
from tests.stage.transfers import PAYOUTS, rich

PAYMENTS, ENDPOINTS = "/v1/payment_intents", "/v1/webhook_endpoints"
MANUAL = {"capture_method": "manual"}
QUOTE = "installments?bin=552879&amount=10000&currency=try"


def tell_answers(story: Storyteller) -> None:
    """Do everything that the API can do, once."""
    sandbox_plans.give(story.client.merchant)
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


def about_an_endpoint(story: Storyteller) -> str:
    url = "https://acme.example/webhooks"
    endpoint = story.post(ENDPOINTS, {"url": url, "enabled_events": ["*"]})["id"]
    story.post(f"{ENDPOINTS}/{endpoint}", {"description": "Orders"})
    story.post(f"{ENDPOINTS}/{endpoint}/roll_secret", {"previous_secret_expires_in": 3600})
    story.get(f"{ENDPOINTS}/{endpoint}")
    story.get(ENDPOINTS)
    short_lived = story.client.post(ENDPOINTS, {"url": url, "enabled_events": ["*"]})["id"]
    story.delete(f"{ENDPOINTS}/{short_lived}")
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
