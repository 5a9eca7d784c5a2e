"""Checkout sessions: valid bodies, and a session's way as the tests walk it."""

from datetime import timedelta
from typing import Any

from core import clock
from payments.checkout import tasks
from tests.stage.client import Answer, ApiClient

SESSIONS = "/v1/checkout/sessions"
SUCCESS_URL = "https://acme.example/thanks?session={CHECKOUT_SESSION_ID}"


def of_amount(amount: int = 12500, **changes: Any) -> dict[str, Any]:
    """The body of a session that makes a payment of an amount."""
    return {"amount": amount, "currency": "try", **changes}


def priced_line(unit_amount: int = 2000, currency: str = "try", **changes: Any) -> dict[str, Any]:
    """A line as Stripe's SDKs write it."""
    product = {"name": "Tea glass"}
    price = {"currency": currency, "unit_amount": unit_amount, "product_data": product}
    return {"price_data": price, "quantity": 1, **changes}


def opened(client: ApiClient, **changes: Any) -> Answer:
    """Make a session with a payment of its own."""
    answer = client.post(SESSIONS, of_amount(**changes))
    assert answer.status == 200, answer.body
    return answer


def over(client: ApiClient, payment_id: str, **changes: Any) -> Answer:
    """Ask for a session over a payment."""
    return client.post(SESSIONS, {"payment_intent": payment_id, **changes})


def waiting(client: ApiClient, **changes: Any) -> str:
    """Make a payment that waits for a card, and return its id."""
    answer = client.post("/v1/payment_intents", of_amount(**changes))
    assert answer["status"] == "requires_payment_method"
    return answer["id"]


def session(client: ApiClient, session_id: str) -> Answer:
    """Return a session as it is now."""
    return client.get(f"{SESSIONS}/{session_id}")


def ends(client: ApiClient, session_id: str) -> list[str]:
    """Return what the events of a session tell, oldest first."""
    events = client.events_of(session_id)
    return [event["type"].removeprefix("checkout.session.") for event in events]


def expire_after(seconds: float) -> None:
    """Move the sandbox's clock, then run the job that ends sessions once."""
    clock.advance(timedelta(seconds=seconds))
    tasks.expire_due()
