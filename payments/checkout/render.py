"""Sessions as the API shows and describes them; answers and event bodies hold the same dicts."""

from typing import Any

from core import clock
from core.rest import schema
from core.rest.components import Choices, named
from core.rest.schema import (
    Schemas,
    identifier,
    instant,
    minor,
    nullable,
    record,
    ref,
    text,
    whole_or_id,
)
from core.rest.shown import Field, Shown
from payments.checkout import links
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason, Locale, SessionStatus
from payments.intents import choices
from payments.intents.states import PaymentStatus

NAME = "checkout.session"
PAID, UNPAID = "paid", "unpaid"
ADDRESS_FIELDS = ("line1", "line2", "city", "state", "postal_code", "country")
# Of the lines that `expand[]` shows in the session itself.
LINES_MAX = 100

STATUS = Choices(
    "CheckoutSessionStatus",
    {
        SessionStatus.OPEN: "The payer can pay.",
        SessionStatus.COMPLETE: "The payment is `succeeded` or `requires_capture`.",
        SessionStatus.EXPIRED: "It ended without a payment.",
    },
)
_PAYMENT_STATUS = Choices(
    "CheckoutPaymentStatus",
    {PAID: "The payment is `succeeded`.", UNPAID: "The payment is not `succeeded`."},
)
LOCALE = Choices(
    "CheckoutLocale",
    {
        Locale.AUTO: "The language of the payer's browser.",
        Locale.TURKISH: "Turkish.",
        Locale.ENGLISH: "English.",
    },
)
_REASON = Choices(
    "CheckoutExpirationReason",
    {
        ExpirationReason.TIME: "`expires_at` has passed.",
        ExpirationReason.API: "You ended it.",
        ExpirationReason.TOO_MANY_TRIES: "Too many tries of the page failed.",
        ExpirationReason.PAYMENT_CANCELED: "Its payment was canceled.",
    },
)
MODE = Choices("CheckoutMode", {"payment": "One payment."})
_UI_MODE = Choices("ShownCheckoutUiMode", {"hosted_page": "A page of the service's own."})
_SUBMIT = Choices("ShownCheckoutSubmitType", {"pay": "The button says that it pays."})

_DETAILS: Schemas = {
    "name": nullable(text("The name that the payer gave.")),
    "email": nullable(text("The payer's e-mail address.")),
    "phone": {"type": "null", "description": "The page asks for none."},
    "address": named(
        "CheckoutBillingAddress",
        record(
            "The billing address.",
            {
                name: nullable(text("As the payer gave it; null if not given."))
                for name in ADDRESS_FIELDS
            },
        ),
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
        "status": STATUS.open("Where the session stands."),
        "payment_status": Field(
            _PAYMENT_STATUS.open("Whether the payment is `succeeded`."),
            _payment_status,
        ),
        "payment_intent": Field(
            whole_or_id("pi", "PaymentIntent", "The payment."),
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
        "locale": LOCALE.open("The language of the page."),
        "client_reference_id": nullable(text("Your own id of the order or cart.")),
        "customer": Field(
            nullable(
                {
                    "anyOf": [identifier("cus"), ref("Customer"), ref("DeletedCustomer")],
                    "description": "The customer; null if there is none. Expandable.",
                }
            ),
            "customer_id",
        ),
        "customer_email": Field(
            nullable(text("The payer's e-mail address, if you gave it.")),
            lambda session: session.billing_details.get("email"),
        ),
        "customer_details": Field(
            nullable(
                named(
                    "CheckoutCustomerDetails",
                    record("The payer's billing details.", _DETAILS),
                    "The billing details of the payer; null until the session is complete.",
                )
            ),
            _details,
        ),
        "expiration_reason": nullable(_REASON.open("Why it expired; null if it did not.")),
        "tries": schema.integer("How many attempts from the page have been counted."),
        "mode": Field(MODE.open("Always a payment."), lambda _: "payment"),
        "ui_mode": Field(_UI_MODE.open("The page that takes the card."), lambda _: "hosted_page"),
        "payment_method_types": Field(
            schema.array(choices.METHOD_TYPE.open("A payment method."), "The ways to pay."),
            lambda _: ["card"],
        ),
        "submit_type": Field(_SUBMIT.open("The word on the button."), lambda _: "pay"),
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
