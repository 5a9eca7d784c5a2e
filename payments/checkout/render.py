"""Sessions as the API shows and describes them; answers and event bodies hold the same dicts."""

from typing import Any

from core import clock
from core.rest import schema
from core.rest.schema import (
    Schemas,
    identifier,
    instant,
    minor,
    nullable,
    record,
    ref,
    text,
)
from core.rest.shown import Field, Shown
from payments.checkout import links
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason, Locale, SessionStatus
from payments.intents.states import PaymentStatus

NAME = "checkout.session"
PAID, UNPAID = "paid", "unpaid"
ADDRESS_FIELDS = ("line1", "line2", "city", "state", "postal_code", "country")
# Of the lines that `expand[]` shows in the session itself.
LINES_MAX = 100

_DETAILS: Schemas = {
    "name": nullable(text("The name that the payer gave.")),
    "email": nullable(text("The payer's e-mail address.")),
    "phone": {"type": "null", "description": "The page asks for none."},
    "address": record(
        "The billing address.", {name: nullable(text("As given.")) for name in ADDRESS_FIELDS}
    ),
}


def customer_details(billing: dict[str, Any]) -> dict[str, Any]:
    """Return the billing details that a payer was charged with, as an invoice needs them."""
    address = billing.get("address") or {}
    return {
        "name": billing.get("name"),
        "email": billing.get("email"),
        "phone": None,
        "address": {name: address.get(name) for name in ADDRESS_FIELDS},
    }


def _payment_status(session: CheckoutSession) -> str:
    return PAID if session.intent.status == PaymentStatus.SUCCEEDED else UNPAID


def _url(session: CheckoutSession) -> str | None:
    return links.address(session.id) if session.status == SessionStatus.OPEN else None


def _details(session: CheckoutSession) -> dict[str, Any] | None:
    # The database returns an object's keys in another order than the API shows them.
    return customer_details(session.customer_details) if session.customer_details else None


session = Shown[CheckoutSession](
    NAME,
    "cs",
    "A page on which one payer pays one payment.",
    {
        "status": schema.one_of(SessionStatus, "Where the session stands."),
        "payment_status": Field(
            schema.one_of((PAID, UNPAID), "`paid` once the payment is `succeeded`."),
            _payment_status,
        ),
        "payment_intent": Field(
            {
                "anyOf": [identifier("pi"), ref("PaymentIntent")],
                "description": "The payment. Expandable.",
            },
            "intent_id",
        ),
        "amount_subtotal": Field(minor("The payment's amount."), "intent.amount"),
        "amount_total": Field(minor("The payment's amount."), "intent.amount"),
        "currency": Field(schema.CURRENCY, "intent.currency"),
        "surcharge": Field(minor("What the payer pays for installments."), "intent.surcharge"),
        "url": Field(nullable(text("The page's address while the session is open.")), _url),
        "success_url": nullable(text("Where the payer goes after the payment.")),
        "cancel_url": nullable(text("Where the payer goes back to.")),
        "expires_at": Field(
            instant("When it ends without a payment."),
            lambda session: clock.unix(session.expires_at),
        ),
        "locale": schema.one_of(Locale, "The page's language; `auto` is the browser's."),
        "client_reference_id": nullable(text("Your own id of the order or cart.")),
        "customer": Field(
            nullable(
                {
                    "anyOf": [identifier("cus"), ref("Customer"), ref("DeletedCustomer")],
                    "description": "Expandable.",
                }
            ),
            "customer_id",
        ),
        "customer_email": Field(
            nullable(text("The payer's e-mail address, if you gave it.")),
            lambda session: session.billing_details.get("email"),
        ),
        "customer_details": Field(
            nullable(record("Who paid. Null until the session is complete.", _DETAILS)), _details
        ),
        "expiration_reason": nullable(schema.one_of(ExpirationReason, "Why it expired.")),
        "tries": schema.integer("How many tries of the page have failed."),
        "mode": Field({"const": "payment"}, lambda _: "payment"),
        "ui_mode": Field({"const": "hosted_page"}, lambda _: "hosted_page"),
        "payment_method_types": Field(
            schema.array({"const": "card"}, "How it can be paid."), lambda _: ["card"]
        ),
        "submit_type": Field({"const": "pay"}, lambda _: "pay"),
        "metadata": schema.METADATA,
    },
)


def lines(session: CheckoutSession, shown: list[Any]) -> dict[str, Any]:
    """Return the list envelope of the first lines of a session, once they are expanded."""
    return {
        "object": "list",
        "url": f"/v1/checkout/sessions/{session.id}/line_items",
        "has_more": len(session.intent.line_item_ids) > LINES_MAX,
        "data": shown,
    }
