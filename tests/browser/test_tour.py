"""The pictures of the tour: `RECORD_TOUR=1` writes them into docs/tour.

See docs/tutorial/panel-tour.md.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core import clock
from devstack.state import ROOT
from merchants import accounts, keys
from merchants.models import ApiKey, Merchant, RequestLog
from tests.browser.page import Page
from tests.browser.test_panel import EMAIL, prove, signed_in
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory, PaymentFactory, open_merchant
from tests.stage.hooks import tell
from tests.stage.teams import person
from webhooks.models import Delivery, Endpoint

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PLACE = ROOT / "docs" / "tour" if "RECORD_TOUR" in os.environ else ROOT / ".local" / "tour"


@pytest.fixture
def acme(settings: Any) -> Merchant:
    """A shop that has worked for a day, with a request that failed and an endpoint that fails."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    opened = open_merchant("Acme Store", website="https://acme.example")
    merchant = opened.merchant
    person(EMAIL, (merchant, "owner"))
    accounts.change(merchant, {"add_callback": "http://localhost:3000/return"})
    PaymentFactory(merchant=merchant, description="Order 1000")
    _key(merchant)
    shop = ApiClient(opened)
    EndpointFactory(merchant=merchant, url="https://acme.example/hooks", description="Shop")
    customer = shop.post("/v1/customers", {"email": "ada@shop.example", "name": "Ada"})["id"]
    shop.post("/v1/payment_intents", {"amount": 0, "currency": "try"}, idempotency_key="order-7")
    _fail(shop, customer)
    return merchant


def _key(merchant: Merchant) -> None:
    key, _secret = keys.create(merchant, name="Reports", scopes={"payment_intents": "read"})
    long_ago = clock.now() - timedelta(days=120)
    ApiKey.objects.filter(pk=key.pk).update(created_at=long_ago)


def _fail(shop: ApiClient, customer: str) -> None:
    """Let an endpoint fail after some deliveries that succeeded."""
    Delivery.objects.update(
        status="succeeded", response_status=200, duration_ms=48, attempted_at=clock.now(),
        response_excerpt="ok",
    )  # fmt: skip
    shop.post(f"/v1/customers/{customer}", {"name": "Ada Lovelace", "phone": "+905550000000"})
    Delivery.objects.filter(event__type="customer.updated").update(
        status="failed", error="http_status", response_status=503, duration_ms=1204,
        response_excerpt="upstream is down",
    )  # fmt: skip
    Endpoint.objects.filter(merchant=shop.merchant).update(status="failing")
    for _ in range(3):
        tell(shop.merchant, customer)


def test_the_pictures_of_the_tour_are_taken(acme: Merchant, open_page: Callable[..., Page]) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    page = signed_in(open_page, "en")
    failing = RequestLog.objects.get(merchant=acme, status=400).id
    endpoint = Endpoint.objects.get(merchant=acme).id
    failed = Delivery.objects.get(status="failed")
    prove(page, "en")

    for name, path in {
        "overview": "",
        "keys": "/keys",
        "create-key": "/keys/create?preset=read_only",
        "websites": "/websites?url=https://shop.acme.example/return",
        "request-logs": "/request_logs",
        "request": f"/request_logs/{failing}",
        "endpoint": f"/webhooks/{endpoint}?delivery={failed.id}",
        "event": f"/events/{failed.event_id}",
    }.items():
        page.visit(f"/panel/{acme.id}{path}")
        page.picture(PLACE / f"{name}.png", whole=False)


def test_every_picture_is_in_the_tour() -> None:
    tour = (ROOT / "docs" / "tutorial" / "panel-tour.md").read_text()

    kept = sorted(path.name for path in Path(ROOT / "docs" / "tour").iterdir())
    assert len(kept) == 8
    assert [name for name in kept if f"](../tour/{name})" not in tour] == []
