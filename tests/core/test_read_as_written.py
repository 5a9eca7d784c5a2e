"""Objects that a merchant writes are read as the write was answered, in the same order of keys."""

from typing import Any

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WORDS = {"order": "7", "b": "1", "a": "2"}
ADDRESS = {"country": "TR", "city": "İzmir", "line1": "Kordon 1"}


def bodies(acme: ApiClient) -> dict[str, dict[str, Any]]:
    payment = acme.pay()["id"]
    return {
        "customers": {"address": ADDRESS, "shipping": {"name": "Ayşe", "address": ADDRESS}},
        "refunds": {"payment_intent": payment, "amount": 100},
        "topups": {"amount": 100_000, "currency": "try"},
        "webhook_endpoints": {"url": "https://acme.example/h", "enabled_events": ["*"]},
    }


def test_each_object_with_metadata_is_read_as_it_was_answered(
    acme: ApiClient, bank: BankTransport
) -> None:
    for noun, body in bodies(acme).items():
        created = acme.post(f"/v1/{noun}", {**body, "metadata": WORDS})

        read = acme.get(f"/v1/{noun}/{created['id']}")

        assert list(read["metadata"]) == list(created["metadata"]) == ["a", "b", "order"], noun
        without_secret = {name: created[name] for name in created.body if name != "secret"}
        assert str(read.body) == str(without_secret), noun
