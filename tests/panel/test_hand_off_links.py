"""No page of the panel, the desk or the admin has a link that is worth a card (docs/adr/0061)."""

import pytest
from django.test import Client
from django.urls import reverse

from events.models import Event
from merchants.models import User
from payments.intents.models import Attempt
from payments.payer import payer_links
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import confirmation
from tests.stage.teams import person, signed_in
from tests.stage.threeds import challenged

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def secret(acme: ApiClient, bank: BankTransport) -> str:
    """The secret of the link to which a payer is sent, after another one was sent elsewhere."""
    asked = challenged(acme)
    challenged_again = confirmation(
        return_url="https://acme.example/back",
        payment_method_options={"card": {"three_d_secure": "required"}},
    )
    acme.post(f"/v1/payment_intents/{asked['id']}/confirm", challenged_again)
    return path_of(Attempt.objects.latest("created_at")).rpartition(".")[2]


def path_of(attempt: Attempt) -> str:
    return payer_links.page_path(attempt)


def test_the_panel_shows_payments_and_events_without_it(acme: ApiClient, secret: str) -> None:
    owner = signed_in(person("ada@acme.example", (acme.merchant, "owner")))
    base = f"/panel/{acme.merchant.id}"
    event = Event.objects.filter(type="payment_intent.requires_action").latest("sequence")
    assert secret in bytes(event.body).decode()

    pages = [
        owner.get(f"{base}/payments/{event.aggregate_id}", follow=True),
        owner.get(f"{base}/events/{event.id}", follow=True),
    ]

    for page in pages:
        text = page.content.decode()
        assert (page.status_code, "redirect_to_url" in text) == (200, True)
        assert secret not in text
        assert "[redacted]" in text


def test_the_admin_shows_payments_and_attempts_without_it(secret: str, client: Client) -> None:
    User.objects.create_superuser("operator@example.com", "a long enough password")
    client.login(email="operator@example.com", password="a long enough password")
    attempt = Attempt.objects.latest("created_at")
    event = Event.objects.latest("sequence")

    for name, key in (
        ("intents_paymentintent", attempt.intent_id), ("intents_attempt", attempt.id),
        ("events_event", event.id),
    ):  # fmt: skip
        page = client.get(reverse(f"admin:{name}_change", args=[key]))
        assert page.status_code == 200
        assert secret not in page.content.decode()
