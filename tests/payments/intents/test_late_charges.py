"""A charge that comes after its payment was canceled is given back, and shown (architecture 2)."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from events.models import Event
from merchants.models import User
from payments.intents import authorization
from payments.intents.models import Attempt, Modification
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import challenged

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Iterator[None]:
    yield
    assert_audit_is_clean()


@pytest.fixture
def operator(client: Client) -> Client:
    User.objects.create_superuser("operator@example.com", "a long enough password")
    assert client.login(email="operator@example.com", password="a long enough password")
    return client


@pytest.fixture
def canceled(acme: ApiClient, bank: BankTransport) -> str:
    """A payment that was canceled while its payer was at the bank."""
    payment_id = challenged(acme)["id"]
    acme.post(f"/v1/payment_intents/{payment_id}/cancel")
    return payment_id


def the_bank_charges_after_all() -> None:
    attempt = Attempt.objects.get()
    bank_books.charge(GOOD_CARD, reference=attempt.acquirer_reference, merchant=attempt.merchant_id)
    authorization.apply(attempt, Outcome(Says.APPROVED, authorization_code="A1B2C3"))


def attempt_of(acme: ApiClient, payment_id: str) -> dict[str, object]:
    return acme.get(f"/v1/payment_intents/{payment_id}?expand[]=latest_attempt")["latest_attempt"]


def frozen() -> list[tuple[int, bytes]]:
    return [(row.sequence, bytes(row.body)) for row in Event.objects.order_by("sequence")]


def test_the_merchant_sees_when_it_was_given_back(acme: ApiClient, canceled: str) -> None:
    assert attempt_of(acme, canceled)["reversed_at"] is None

    the_bank_charges_after_all()
    assert attempt_of(acme, canceled)["reversed_at"] is None  # The bank was not asked yet.
    sweep_after(10)

    shown = attempt_of(acme, canceled)
    assert shown["reversed_at"] == int(Modification.objects.get().closed_at.timestamp())
    assert (shown["status"], shown["amount_charged"]) == ("canceled", 0)
    assert bank_books.order().state == "voided"


def test_the_payment_and_its_events_stay_what_they_were(acme: ApiClient, canceled: str) -> None:
    paid, events = acme.payment(canceled).body, frozen()

    the_bank_charges_after_all()
    sweep_after(10)

    assert (acme.payment(canceled).body, frozen()) == (paid, events)


def test_operators_find_what_was_given_back(operator: Client, canceled: str) -> None:
    the_bank_charges_after_all()
    sweep_after(10)
    attempt, reversal = Attempt.objects.get(), Modification.objects.get()
    address = reverse("admin:intents_modification_changelist")

    found = operator.get(f"{address}?kind__exact=reverse&status__exact=succeeded")
    others = operator.get(f"{address}?kind__exact=capture")
    page = operator.get(reverse("admin:intents_attempt_change", args=[attempt.id]))

    assert reversal.id in found.content.decode()
    assert reversal.id not in others.content.decode()
    assert reversal.id in page.content.decode()
    assert f'value="{attempt.id}"' not in page.content.decode()  # Nothing to type into.
