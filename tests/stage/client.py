"""A merchant's backend, as the tests play it."""

import copy
import json
from typing import Any

from django.test import Client

from merchants import keys
from merchants.accounts import Opened
from tests.stage import described
from tests.stage.factories import GOOD_CARD, payment

REFUNDS = "/v1/refunds"


class Answer:
    """A response: its status, headers and JSON."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.status: int = response.status_code
        self.headers = response.headers
        self.body: dict[str, Any] = json.loads(response.content)

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    @property
    def error(self) -> dict[str, Any]:
        return self.body["error"]

    @property
    def refusal(self) -> tuple[int, str, str | None]:
        """Status, code and param: what a refusal's test is about."""
        return self.status, self.error["code"], self.error["param"]


class ApiClient:
    """Calls the API with one merchant's key."""

    def __init__(self, opened: Opened) -> None:
        self.merchant = opened.merchant
        self.key = opened.secret_key
        self.http = Client(raise_request_exception=False)

    def twin(self, key: str | None = None) -> "ApiClient":
        """Another client of the same merchant, for another thread or with another key."""
        twin = copy.copy(self)
        twin.key, twin.http = key or self.key, Client(raise_request_exception=False)
        return twin

    def with_scopes(self, **scopes: str) -> "ApiClient":
        """Another client of the same merchant, whose key has these scopes."""
        return self.twin(keys.create(self.merchant, name="some", scopes=scopes)[1])

    def get(self, path: str, **headers: str) -> Answer:
        return self._call("GET", path, b"", headers)

    def post(self, path: str, body: dict[str, Any] | bytes | None = None, **headers: str) -> Answer:
        """POST JSON; keyword arguments are headers, `idempotency_key="k"`."""
        raw = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        return self._call("POST", path, raw, headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self._call("DELETE", path, b"", headers)

    def pay(self, number: str = GOOD_CARD, **changes: Any) -> Answer:
        """Create and confirm a payment with a card."""
        return self.post("/v1/payment_intents", payment(number, **changes))

    def refund(self, payment_id: str, amount: int | None = None, **changes: Any) -> Answer:
        """Refund a payment, or a part of it; `idempotency_key` is a header, the rest the body."""
        headers = {"idempotency_key": key} if (key := changes.pop("idempotency_key", "")) else {}
        part = {} if amount is None else {"amount": amount}
        return self.post(REFUNDS, {"payment_intent": payment_id, **part, **changes}, **headers)

    def refunded(self, refund_id: str) -> Answer:
        """Return a refund as it is now."""
        return self.get(f"{REFUNDS}/{refund_id}")

    def payment(self, payment_id: str) -> Answer:
        return self.get(f"/v1/payment_intents/{payment_id}")

    def events_of(self, object_id: str) -> list[dict[str, Any]]:
        """Return an object's events, oldest first."""
        events = self.get("/v1/events?limit=100")["data"]
        return [event for event in reversed(events) if event["aggregate_id"] == object_id]

    def told(self, payment_id: str) -> list[str]:
        """Return what the events of a payment tell, oldest first, without their common prefix."""
        events = self.events_of(payment_id)
        return [event["type"].removeprefix("payment_intent.") for event in events]

    def pending(self, currency: str = "try") -> int:
        """Return what the balance shows as pending, in minor units."""
        rows = self.get("/v1/balance")["pending"]
        return next(row["amount"] for row in rows if row["currency"] == currency)

    def _call(self, method: str, path: str, raw: bytes, headers: dict[str, str]) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(method, path, raw, {"authorization": f"Bearer {self.key}", **named})

    def send(self, method: str, path: str, raw: bytes, headers: dict[str, str]) -> Answer:
        """Send bytes as they are, with these headers and no key but theirs."""
        sent = dict(headers)
        content_type = sent.pop("content-type", "application/json")
        response = self.http.generic(
            method, path, raw, content_type=content_type, headers=sent, secure=False
        )
        answer = Answer(response)
        described.check(method, path, _sent(raw, content_type), answer.status, answer.body)
        return answer


def _sent(raw: bytes, content_type: str) -> Any:
    """Return what was sent as JSON; None where it was none."""
    if not raw or content_type.partition(";")[0] != "application/json":
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None  # It was refused.
