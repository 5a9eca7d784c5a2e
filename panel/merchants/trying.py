"""Test events: an endpoint gets an event of a real thing, never of one that is made up.

In the sandbox that is a payment of 1.00, or a customer; else the newest event that the endpoint
asked for is sent again (panel contract: Test event).
"""

from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import clock
from core.money import read
from core.rest.parsers import CardInput
from events import types
from events.models import Event
from merchants import audit_log
from merchants.models import Merchant
from payments.charging import confirmation
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm
from payments.intents import states
from payments.intents.forms import CreateIntentForm
from webhooks import endpoints
from webhooks.models import Endpoint

# The simulated bank charges it without any question (contract 11).
TEST_CARD = "4242424242424242"
# Events that a payment which is charged at once has, and those of a customer.
OF_PAYMENT = (states.SUCCEEDED, states.CREATED)
OF_CUSTOMER = (customers.CREATED,)


class TestPlan(NamedTuple):
    """The way in which an endpoint is tested.

    :param event_type: of the event that will arrive; nothing if none can.
    :param event: the one that is sent again, None if a new thing is made.
    :param why_not: the reason why nothing can be sent.
    """

    event_type: str
    event: Event | None = None
    why_not: str | Promise = ""

    @property
    def is_payment(self) -> bool:
        return self.event is None and self.event_type in OF_PAYMENT

    @property
    def is_customer(self) -> bool:
        return self.event is None and self.event_type in OF_CUSTOMER


def plan(merchant: Merchant, endpoint: Endpoint) -> TestPlan:
    """Return how an endpoint is tested now, by its status and by what it listens for."""
    if endpoint.status == Endpoint.Status.DISABLED:
        return TestPlan("", why_not=_("The endpoint is disabled. Enable it first."))
    # A new thing's event would only count as missed by an endpoint that is failing.
    if not settings.LIVEMODE and endpoint.status == Endpoint.Status.ENABLED:
        for name in (*OF_PAYMENT, *OF_CUSTOMER):
            if _listens(endpoint, name):
                return TestPlan(name)
    event = _newest(merchant, endpoint)
    if event is None:
        return TestPlan("", why_not=_("Nothing that this endpoint listens for has happened yet."))
    return TestPlan(event.type, event)


def carry_out(merchant: Merchant, endpoint: Endpoint, wanted: TestPlan) -> None:
    """Do what the plan says; the request's token is claimed in its first transaction.

    :raises DomainError: the payment, the customer or the sending is refused.
    """
    if wanted.event is not None:
        endpoints.resend_event(merchant, wanted.event.id, endpoint.id)
        return
    if wanted.is_payment:
        _pay(merchant)
    else:
        customers.create(merchant, CreateCustomerForm.read({"name": "Test"}))
    _note(merchant, endpoint, wanted)


@transaction.atomic(durable=True)
def _note(merchant: Merchant, endpoint: Endpoint, wanted: TestPlan) -> None:
    # The log has no word for a payment that is made: to test is the person's action. What was
    # refused is none, so the row comes after it; the payment's events name the request meanwhile.
    after = {"event_type": wanted.event_type}
    audit_log.record("endpoint.tested", merchant=merchant, subject=endpoint.id, after=after)


def _pay(merchant: Merchant) -> None:
    currency = merchant.default_currency
    card = {"number": TEST_CARD, "exp_month": 12, "exp_year": clock.now().year + 5, "cvc": "123"}
    body = {
        "amount": read("1", currency),
        "currency": currency,
        "confirm": True,
        "payment_method_data": {
            "type": "card",
            "card": CardInput(card),
            "billing_details": _payer(merchant),
        },
        "description": "Test event",
    }
    confirmation.create(merchant, CreateIntentForm.read(body))


def _payer(merchant: Merchant) -> dict[str, Any]:
    address = {"line1": "Test 1", "city": "Test", "country": merchant.country}
    return {"name": "Test", "email": "test@example.com", "address": address}


def _listens(endpoint: Endpoint, name: str) -> bool:
    return bool({types.ALL, name} & {*endpoint.enabled_events})


def _newest(merchant: Merchant, endpoint: Endpoint) -> Event | None:
    rows = Event.objects.for_merchant(merchant)
    if types.ALL not in endpoint.enabled_events:
        rows = rows.filter(type__in=endpoint.enabled_events)
    return rows.order_by("-created_at", "-id").first()
