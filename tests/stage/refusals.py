"""Checks of every refusal: its form and headers, and that it leaves nothing behind."""

from typing import Any

from django.conf import settings
from django.test import Client

from merchants.models import IdempotencyKey
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.client import Answer
from vault.models import SealedCard

ENVELOPE = {"type", "code", "message", "param", "doc_url", "request_id"}


def assert_envelope(answer: Answer) -> None:
    """Every error of every layer looks like this (contract 4)."""
    assert answer.body.keys() == {"error"}
    assert answer.error.keys() >= ENVELOPE
    assert answer.error["request_id"] == answer.headers["Request-Id"]
    assert answer.error["request_id"].startswith("req_")
    assert answer.error["doc_url"] == f"{settings.DOCS_URL}/errors#{answer.error['code']}"
    assert answer.headers["Content-Type"] == "application/json"
    is_ours = answer.status >= 500
    assert (answer.error["type"] == "api_error") == is_ours


def assert_nothing_stored() -> None:
    for rows in (PaymentIntent, Customer, SealedCard, IdempotencyKey):
        assert not rows.objects.exists()


def raw(method: str, path: str, body: bytes = b"", **options: Any) -> Answer:
    """Send a request without a key, as anybody may."""
    http = Client(raise_request_exception=False)
    return Answer(http.generic(method, path, body, **options))
