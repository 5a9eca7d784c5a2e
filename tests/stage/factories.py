"""Valid rows and valid bodies, and nothing more."""

from typing import Any

import factory
from django.conf import settings

from acquirers import references
from acquirers.models import Terminal
from core import clock, ids
from core.cards import CardData
from core.keyring import ring
from merchants import accounts
from merchants.models import Merchant, NonSecureLimit, RequestLog
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.account_template import AccountTemplate
from vault import cards as vault_cards
from vault.models import SealedCard
from webhooks.models import Endpoint, SigningSecret

GOOD_CARD = "4242424242424242"
DECLINED_CARD = "4000000000000002"
DEBIT_CARD = "4766620000000001"
SILENT_CARD = "4000001100000025"
RETURN_URL = "https://acme.example/back"


class MerchantFactory(factory.django.DjangoModelFactory):
    """A merchant's row, without an owner or a key."""

    class Meta:
        model = Merchant

    id = factory.LazyFunction(lambda: ids.new("mer"))
    name = "Acme Store"
    email = "owner@acme.example"
    country = "TR"
    default_currency = "try"
    timezone = "Europe/Istanbul"
    api_version = "2026-11-01"
    created_at = factory.LazyFunction(clock.now)


def sealed_card(merchant: Merchant) -> SealedCard:
    return vault_cards.seal(merchant.id, CardData(GOOD_CARD, 12, 2040), now=clock.now())


def shown_card(sealed: SealedCard) -> dict[str, Any]:
    """A sealed card as a payment shows it."""
    return {
        "brand": "visa",
        "bin": sealed.bin,
        "last4": sealed.last4,
        "masked": f"{sealed.bin}******{sealed.last4}",
        "exp_month": sealed.exp_month,
        "exp_year": sealed.exp_year,
        "card_type": "credit",
        "domestic": False,
        "country": "US",
        "issuer": None,
        "program": None,
        "commercial": False,
        "three_d_secure_required": False,
    }


class PaymentFactory(factory.django.DjangoModelFactory):
    """A charged payment's row, past the API: only for what the database itself refuses."""

    class Meta:
        model = PaymentIntent

    id = factory.LazyFunction(lambda: ids.new("pi"))
    merchant = factory.SubFactory(MerchantFactory)
    status = "succeeded"
    capture_method = "automatic"
    currency = "try"
    amount = 12500
    authorized_minor = 12500
    captured_minor = 12500
    sealed_card = factory.LazyAttribute(lambda row: sealed_card(row.merchant))
    created_at = factory.LazyFunction(clock.now)


class AttemptFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Attempt

    id = factory.LazyFunction(lambda: ids.new("att"))
    intent = factory.SubFactory(PaymentFactory)
    terminal = factory.LazyFunction(lambda: Terminal.objects.get(name="sandbox"))
    merchant = factory.LazyAttribute(lambda row: row.intent.merchant)
    acquirer_reference = factory.LazyFunction(lambda: references.new())
    amount = 12500
    currency = "try"
    capture_method = "automatic"
    sealed_card = factory.LazyAttribute(lambda row: sealed_card(row.merchant))
    card = factory.LazyAttribute(lambda row: shown_card(row.sealed_card))
    three_d_secure_requested = "automatic"
    request_id = factory.LazyFunction(lambda: ids.new("req"))
    created_at = factory.LazyFunction(clock.now)
    asked_at = due_at = factory.LazyAttribute(lambda row: row.created_at)


# By name and website, the accounts that this process has opened.
_templates: dict[tuple[str, str], AccountTemplate] = {}


def open_merchant(name: str, *, website: str) -> accounts.Opened:
    """A whole account: owner, key and a website.

    Opened by the service once for each process; then its rows are written again by one
    statement, with a new id and a new key.
    """
    template = _templates.get((name, website))
    if again := template and template.write():
        return again
    opened = _newly_opened(name, website)
    # An owner of before may have changed since.
    if opened.password:
        _templates.setdefault((name, website), AccountTemplate(opened))
    return opened


def _newly_opened(name: str, website: str) -> accounts.Opened:
    host = website.removeprefix("https://")
    opened = accounts.open_account(name=name, email=f"owner@{host}", websites=(website,))
    merchant = opened.merchant
    # A merchant of the tests may take any amount of the other currencies without 3-D Secure.
    NonSecureLimit.objects.bulk_create(
        NonSecureLimit(merchant=merchant, currency=currency)
        for currency in settings.CURRENCIES
        if currency != merchant.default_currency
    )
    return opened


def card(number: str = GOOD_CARD, **changes: Any) -> dict[str, Any]:
    return {"number": number, "exp_month": 12, "exp_year": 2040, "cvc": "123", **changes}


def payment_method(number: str = GOOD_CARD, **card_changes: Any) -> dict[str, Any]:
    return {
        "type": "card",
        "card": card(number, **card_changes),
        "billing_details": {
            "name": "Ayşe Yılmaz",
            "email": "ayse@example.com",
            "address": {"line1": "İstiklal Cd. 1", "city": "İstanbul", "country": "TR"},
        },
    }


def payment(number: str = GOOD_CARD, **changes: Any) -> dict[str, Any]:
    """The body of a create-and-confirm."""
    return {
        "amount": 12500,
        "currency": "try",
        "confirm": True,
        "payment_method_data": payment_method(number),
        **changes,
    }


def unconfirmed(number: str = GOOD_CARD, **changes: Any) -> dict[str, Any]:
    """The body of a create that leaves the confirmation for later."""
    return {**payment(number), "confirm": False, **changes}


def confirmation(number: str = GOOD_CARD, **changes: Any) -> dict[str, Any]:
    """The body of a confirm with a card."""
    return {"payment_method_data": payment_method(number), **changes}


def three_d_secure(requested: str) -> dict[str, Any]:
    return {"payment_method_options": {"card": {"three_d_secure": requested}}}


def line(amount: int, **changes: Any) -> dict[str, Any]:
    return {"name": "Tea glass", "unit_amount": amount, **changes}


class RequestLogFactory(factory.django.DjangoModelFactory):
    """A refused request to the API."""

    class Meta:
        model = RequestLog

    id = factory.LazyFunction(lambda: ids.new("req"))
    kind = RequestLog.Kind.API
    method = "POST"
    path = "/v1/payment_intents"
    status = 400
    duration_ms = 12
    request_body = '{"amount":0}'
    response_body = '{"error":{"code":"parameter_invalid","message":"Too small.","param":"amount"}}'
    error_code = "parameter_invalid"
    created_at = factory.LazyFunction(clock.now)


class EndpointFactory(factory.django.DjangoModelFactory):
    """An endpoint's row with a signing secret, past the API and its rules about addresses."""

    class Meta:
        model = Endpoint
        skip_postgeneration_save = True

    id = factory.LazyFunction(lambda: ids.new("we"))
    merchant = factory.SubFactory(MerchantFactory)
    url = "https://acme.example/hooks"
    enabled_events = ["*"]
    api_version = "2026-11-01"
    created_at = factory.LazyFunction(clock.now)

    @factory.post_generation
    def secret(self: Endpoint, create: bool, extracted: str | None, **_options: Any) -> None:
        row = SigningSecret(merchant=self.merchant, endpoint=self, created_at=self.created_at)
        plain = extracted or f"whsec_{ids.random_base62(32)}"
        row.sealed = ring().seal(plain.encode(), context=row.seal_context)
        row.save()
