"""Things that are gone, closed, or of another time: each page is there, and says how it is."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client

from core import clock
from events.models import Event
from merchants import accounts
from merchants.models import Merchant
from panel.merchants import figures
from payments.charging import card_destruction
from payments.customers import customers
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from payments.intents.notes import note
from tests.stage.client import ApiClient
from tests.stage.panel_pages import addresses
from tests.stage.teams import person, signed_in
from vault.models import SealedCard

pytestmark = [
    pytest.mark.usefixtures("bank"),
    pytest.mark.django_db(databases=["default", "bank"]),
]


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    figures.forget()
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def closed(merchant: Merchant) -> None:
    accounts.change(merchant, {"status": "closed", "charges_enabled": False})


def restricted(merchant: Merchant) -> None:
    accounts.change(merchant, {"status": "restricted"})


def forty_days_later(_merchant: Merchant) -> None:
    clock.advance(timedelta(days=40))


def in_another_zone(merchant: Merchant) -> None:
    accounts.change(merchant, {"timezone": "Pacific/Chatham"})


def without_numbers_of_cards(_merchant: Merchant) -> None:
    clock.advance(timedelta(days=3650 - 30))
    card_destruction.destroy_due()
    assert SealedCard.objects.exclude(destroyed_at=None).exists()


@pytest.mark.parametrize(
    "become", [closed, restricted, forty_days_later, in_another_zone, without_numbers_of_cards]
)
@pytest.mark.dear("every page of the panel, once more for each state of a merchant")
def test_every_page_is_there(
    owner: Client, acme: ApiClient, become: Callable[[Merchant], None]
) -> None:
    acme.pay()
    urls = addresses(acme.merchant)

    become(acme.merchant)

    assert {name: owner.get(url).status_code for name, url in urls.items()} == dict.fromkeys(
        urls, 200
    )


def test_a_closed_merchants_payment_is_not_captured_and_the_page_says_why(
    owner: Client, acme: ApiClient
) -> None:
    held = acme.pay(capture_method="manual")["id"]
    closed(acme.merchant)
    url = f"/panel/{acme.merchant.id}/payments/{held}/capture"

    answer = owner.post(url, {"token": "t", "amount": "1.00"})

    assert answer.status_code == 400
    assert "Your account does not allow this now" in answer.content.decode()


def test_a_payment_of_a_deleted_customer_says_so(owner: Client, acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"email": "eve@evil.example", "name": "Eve"})["id"]
    paid = acme.pay(customer=customer)["id"]
    customers.delete(acme.merchant, customer)

    page = owner.get(f"/panel/{acme.merchant.id}/payments/{paid}")
    theirs = owner.get(f"/panel/{acme.merchant.id}/customers/{customer}")

    assert "deleted" in page.content.decode()
    assert theirs.status_code == 200
    assert "eve@evil.example" not in theirs.content.decode()
    assert Customer.objects.get(pk=customer).deleted_at is not None


def test_a_payment_whose_events_were_pruned_is_shown_without_them(
    owner: Client, acme: ApiClient
) -> None:
    paid = acme.pay()["id"]
    note(acme.merchant, paid, "They called")
    events = list(Event.objects.filter(aggregate_id=paid).values_list("id", flat=True))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT prune_events(%s)", [events])

    page = owner.get(f"/panel/{acme.merchant.id}/payments/{paid}")
    gone = owner.get(f"/panel/{acme.merchant.id}/events/{events[0]}")

    assert page.status_code == 200
    assert "They called" in page.content.decode()
    assert "payment_intent.succeeded" not in page.content.decode()
    assert gone.status_code == 404


def test_a_role_that_changes_while_a_form_is_open_is_the_one_that_counts(
    owner: Client, acme: ApiClient
) -> None:
    paid = acme.pay()["id"]
    url = f"/panel/{acme.merchant.id}/payments/{paid}/refund"
    token = owner.get(url).context["token"]
    acme.merchant.members.filter(user__email="ada@acme.example").update(role="developer")

    answer = owner.post(url, {"token": token, "amount": "1.00"})

    assert answer.status_code == 403
    assert PaymentIntent.objects.get(pk=paid).refunded_minor == 0


def test_an_authorisation_that_expired_meanwhile_is_not_captured(
    owner: Client, acme: ApiClient
) -> None:
    held = acme.pay(capture_method="manual")["id"]
    url = f"/panel/{acme.merchant.id}/payments/{held}/capture"
    owner.get(url)
    clock.advance(timedelta(days=8))

    answer = owner.post(url, {"token": "t", "amount": "1.00"})

    assert answer.status_code == 400
    assert "seven days" in answer.content.decode()
    assert PaymentIntent.objects.get(pk=held).captured_minor == 0
