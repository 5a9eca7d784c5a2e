"""Payers that rules look at: cards that the sandbox approves, addresses, attempts of the past."""

from datetime import datetime
from typing import Any

from core.rest.parsers import CardInput
from merchants.models import Merchant, RiskRule
from payments.charging import confirmation
from payments.charging.terms import Press
from payments.intents.forms import ConfirmIntentForm
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL, AttemptFactory, payment, payment_method

APPROVED = (
    "4242424242424242", "5528790000000008", "5526080000000006", "4603450000000000",
    "9792030000000000", "4111111111111111", "5555555555554444", "5400010000000004",
)  # fmt: skip
BLOCKED = ("requires_payment_method", "fraud_blocked")
PAID = ("succeeded", None)


def set_rule(merchant: Merchant, rule: str, deed: str, n: int | None = None, **more: Any) -> None:
    """Let the merchant have a rule as it wants it."""
    wanted = {"deed": deed, "threshold": n, "window_seconds": more.pop("seconds", None)}
    rows = RiskRule.objects
    rows.update_or_create(merchant=merchant, rule=rule, defaults=wanted, **more)


def paid_by(
    client: ApiClient, number: str = APPROVED[0], email: str | None = None, **more: Any
) -> Answer:
    """Create and confirm a payment with a card and an e-mail address."""
    body = payment(number, **more)
    if email is not None:
        body["payment_method_data"]["billing_details"]["email"] = email
    return client.post("/v1/payment_intents", body)


def ended(answer: Answer) -> tuple[str, str | None]:
    """Return the payment's status, and the code of its error."""
    assert answer.status == 200, answer.body
    error = answer["last_payment_error"]
    return answer["status"], error and error["code"]


def attempt_of(answer: Answer) -> Attempt:
    return Attempt.objects.filter(intent_id=answer["id"]).latest("created_at")


def past_attempts(merchant: Merchant, count: int, *, at: datetime, declined: int = 0) -> None:
    """Write attempts of as many cards down, some of them declined by the bank."""
    one = AttemptFactory(intent__merchant=merchant, status="succeeded", closed_at=at)
    kept = [field.attname for field in Attempt._meta.concrete_fields if not field.primary_key]
    Attempt.objects.filter(pk=one.pk).delete()
    rows = []
    for turn in range(count):
        row = Attempt(id=f"{one.id}_{turn}"[-40:], **{name: getattr(one, name) for name in kept})
        row.acquirer_reference = f"{one.acquirer_reference}_{turn}"
        row.card_fingerprint = f"{turn:064x}"
        row.is_declined, row.is_counted, row.created_at = turn < declined, True, at
        row.status = "failed"  # One successful attempt at most has a payment.
        rows.append(row)
    Attempt.objects.bulk_create(rows)


def unpaid(client: ApiClient) -> str:
    """Make a payment that waits for a card, and return its id."""
    made = client.post("/v1/payment_intents", {"amount": 12500, "currency": "try"})
    intent_id: str = made["id"]
    return intent_id


def _agrees(_intent: PaymentIntent) -> None:
    """Agree to any payment, whatever a page has shown."""


def typed(
    client: ApiClient, number: str = APPROVED[0], *, network: str | None, **billing: Any
) -> PaymentIntent:
    """Confirm a payment as the payment page does for a payer of a network.

    :param billing: also `intent_id`, of a payment that is there, and `return_url`.
    """
    intent_id = billing.pop("intent_id", None) or unpaid(client)
    method, return_url = payment_method(number), billing.pop("return_url", RETURN_URL)
    method["card"] = CardInput(method["card"])
    method["billing_details"].update(billing)
    given = {"payment_method_data": method, "return_url": return_url}
    merchant = Merchant.objects.get(id=client.merchant.id)
    body = ConfirmIntentForm.read(given)
    return confirmation.confirm(merchant, intent_id, body, press=Press(_agrees, network))
