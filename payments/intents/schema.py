"""The description of payments in the API's schema."""

from acquirers.declines import ADVICE_CODES, CODES, DECLINE_CODES
from core.cards import BRANDS
from core.rest import schema
from core.rest.schema import Schemas, identifier, instant, minor, nullable, ref, text
from payments.intents import forms
from payments.intents.models import LineItem, PaymentIntent
from payments.intents.states import EXPIRED, AttemptStatus, PaymentStatus

# Absent while the customer is at the bank (contract 2).
BREAKDOWN = (
    "surcharge", "amount_received", "amount_capturable", "captured_minor", "refunded_minor",
    "amount_refundable", "card",
)  # fmt: skip
AUTHENTICATION = ("automatic", "required", "none")


# --- Parts ------------------------------------------------------------------------------------

_AUTHENTICATION: Schemas = {
    "requested": schema.one_of(AUTHENTICATION, "What you asked for."),
    "effective": schema.one_of(AUTHENTICATION, "What applied; as requested until confirmed."),
}
_CAPTURE_METHOD = schema.one_of(
    PaymentIntent.CaptureMethod.values, "With `manual` you capture what was authorised."
)
_INSTALLMENTS = schema.integer("1 is paid at once.", minimum=1)
_METHOD_TYPE = {"const": "card"}


def _whole_or_id(prefix: str, name: str) -> dict:
    return {"anyOf": [identifier(prefix), ref(name)]}


PARTS = {
    "Card": schema.record(
        "What may be shown of a card.",
        {
            "brand": schema.one_of(BRANDS, "Whose card it is."),
            "bin": {**text("The first 6 digits."), "pattern": "^[0-9]{6}$"},
            "last4": {**text("The last 4 digits."), "pattern": "^[0-9]{4}$"},
            "masked": text("The first 6 digits, asterisks, the last 4."),
            "exp_month": {**schema.integer("1 to 12.", minimum=1), "maximum": 12},
            "exp_year": schema.integer("Four digits.", minimum=2000),
            "card_type": schema.one_of(("credit", "debit", "prepaid"), "What it draws on."),
            "domestic": schema.boolean("Whether it was issued in your account's country."),
        },
    ),
    "NextAction": schema.record(
        "What the customer has to do.",
        {
            "type": {"const": "redirect_to_url"},
            "redirect_to_url": schema.record(
                "Where to send the customer.",
                {
                    "url": text("Send the customer here."),
                    "return_url": text("The customer comes back here."),
                },
            ),
        },
    ),
    "PaymentError": schema.record(
        "Why the last attempt failed.",
        {
            "type": schema.one_of(("card_error", "api_error"), "Whether the bank said no."),
            "code": schema.one_of(CODES, "What happened."),
            "decline_code": nullable(schema.one_of(DECLINE_CODES, "What the bank said.")),
            "reason": text("The most specific of both codes."),
            "message": text("Safe to show to the customer."),
            "attempt": identifier("att"),
            "network_decline_code": nullable(text("As the bank wrote it, ISO 8583.")),
            "advice_code": nullable(schema.one_of(ADVICE_CODES, "What to do next.")),
        },
    ),
    "Fraud": schema.record(
        "What is thought of the payment's risk.",
        {
            "status": schema.one_of(("pending", "clear", "review", "fraud"), "The verdict."),
            "risk_level": schema.one_of(("normal", "elevated", "highest"), "How high it is."),
            "risk_score": {**schema.integer("0 to 100."), "maximum": 100},
            "rule": nullable(text("What decided: a rule, the bank, or a person.")),
            "updated": instant("When the verdict was given."),
        },
    ),
    "Risk": schema.record(
        "What is thought of the attempt's risk.",
        {
            "level": schema.one_of(("normal", "elevated", "highest"), "How high it is."),
            "score": {**schema.integer("0 to 100."), "maximum": 100},
            "rule": nullable(text("What decided: a rule, the bank, or a person.")),
        },
    ),
}


# --- Objects ----------------------------------------------------------------------------------

_PAYMENT: Schemas = {
    "amount": minor("What you asked for."),
    "amount_charged": minor("What the card was debited. Absent until it was."),
    "surcharge": minor("What the customer pays for installments."),
    "amount_received": minor("What was captured, without the surcharge."),
    "amount_capturable": minor("Authorised and not yet captured."),
    "captured_minor": minor("What was captured."),
    "refunded_minor": minor("What was given back."),
    "amount_refundable": minor("What can be given back."),
    "card": nullable({**ref("Card"), "description": "The last card tried; null without one."}),
    "currency": schema.CURRENCY,
    "status": schema.one_of(PaymentStatus, "Where the payment stands."),
    "capture_method": _CAPTURE_METHOD,
    "installments": _INSTALLMENTS,
    "payment_method_type": _METHOD_TYPE,
    "three_d_secure": schema.record("How the customer is authenticated.", _AUTHENTICATION),
    "next_action": nullable(ref("NextAction")),
    "last_payment_error": nullable(ref("PaymentError")),
    "fraud": nullable(ref("Fraud")),
    "return_url": nullable(text("Where the customer comes back to.")),
    "customer": nullable(
        {
            "anyOf": [identifier("cus"), ref("Customer"), ref("DeletedCustomer")],
            "description": "Expandable.",
        }
    ),
    "description": nullable(text("Your own words.")),
    "metadata": schema.METADATA,
    "latest_attempt": nullable(
        {**_whole_or_id("att", "PaymentAttempt"), "description": "Expandable."}
    ),
    "attempts": schema.array(_whole_or_id("att", "PaymentAttempt"), "Oldest first. Expandable."),
    "line_items": schema.array(_whole_or_id("li", "LineItem"), "In your order. Expandable."),
    "canceled_at": nullable(instant("When it was canceled.")),
    "cancellation_reason": nullable(
        schema.one_of((*forms.CANCELLATION_REASONS, EXPIRED), "Why it was canceled.")
    ),
}
_ATTEMPT: Schemas = {
    "payment_intent": {**_whole_or_id("pi", "PaymentIntent"), "description": "Expandable."},
    "status": schema.one_of(AttemptStatus, "How it went."),
    "amount": minor("What was asked for, without the surcharge."),
    "surcharge": minor("What the customer pays for installments."),
    "amount_charged": minor("What the card was debited."),
    "currency": schema.CURRENCY,
    "installments": _INSTALLMENTS,
    "capture_method": _CAPTURE_METHOD,
    "payment_method_type": _METHOD_TYPE,
    "card": nullable(ref("Card")),
    "three_d_secure": schema.record(
        "How the customer was authenticated.",
        {
            **_AUTHENTICATION,
            "flow": nullable(text("`challenge`: the customer was asked.")),
            "result": nullable(text("How it ended.")),
            "version": nullable(text("The version of 3-D Secure.")),
            "eci": nullable(text("The bank's indicator of who is liable.")),
            "transaction_id": nullable(text("The authentication's id at the bank.")),
        },
    ),
    "error": nullable(ref("PaymentError")),
    "risk": nullable(ref("Risk")),
    "authorization_code": nullable(text("The bank's.")),
    "network_reference": nullable(text("The card network's.")),
    "reversed_at": nullable(instant("When a late charge was given back.")),
}
_LINE_ITEM: Schemas = {
    "name": text("What is paid for."),
    "quantity": schema.integer("How many.", minimum=1),
    "unit_amount": minor("What one costs."),
    "amount": minor("quantity × unit_amount + tax_amount − discount_amount."),
    "currency": schema.CURRENCY,
    "tax_amount": minor("Of the whole line."),
    "discount_amount": minor("Of the whole line."),
    "product_code": nullable(text("Your own.")),
    "category": nullable(text("Your own.")),
    "item_type": nullable(schema.one_of(LineItem.ItemType.values, "What kind it is.")),
}

SCHEMAS = {
    **PARTS,
    "PaymentIntent": schema.resource(
        "payment_intent",
        "pi",
        "One payment that you ask for, through all its attempts. While the customer is at the "
        "bank (`requires_action`), the breakdown of the amount and the card are absent.",
        _PAYMENT,
        optional=("amount_charged", *BREAKDOWN),
    ),
    "PaymentAttempt": schema.resource(
        "payment_attempt", "att", "One try to be paid with one card.", _ATTEMPT
    ),
    "LineItem": schema.resource("line_item", "li", "One line of what is paid for.", _LINE_ITEM),
}
