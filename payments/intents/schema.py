"""The description of payments in the API's schema."""

from core.rest import schema
from core.rest.components import Choices, Shape, named
from core.rest.schema import Schemas, identifier, instant, minor, nullable, ref, text, whole_or_id
from payments.intents import choices

# Absent while the customer is at the bank (contract 2).
BREAKDOWN = (
    "surcharge", "amount_received", "amount_capturable", "captured_minor", "refunded_minor",
    "amount_refundable", "card",
)  # fmt: skip
_AT_THE_BANK = "Absent while `status` is `requires_action`."


# --- Parts ------------------------------------------------------------------------------------

_AUTHENTICATION: Schemas = {
    "requested": choices.AUTHENTICATION.open("What you asked for in `payment_method_options`."),
    "effective": choices.AUTHENTICATION.open(
        "What applied: `required` if authentication was demanded, else `none`. Equals `requested` "
        "before the first confirmation."
    ),
}
_CAPTURE_METHOD = choices.CAPTURE_METHOD.open("When the money is taken.")
_INSTALLMENTS = schema.integer("In how many installments the customer pays; 1 is paid at once.",
                               minimum=1)  # fmt: skip
_METHOD_TYPE = choices.METHOD_TYPE.open("The kind of payment method, before a card is known too.")
_RULE = nullable(text("What decided: the name of a rule, `bank` or a person; null for none."))
_SCORE = {**schema.integer("From 0 (no risk) to 100."), "maximum": 100}

_NEXT_ACTION = Choices(
    "NextActionType", {"redirect_to_url": "Send the customer's browser to `redirect_to_url.url`."}
)


def _one(prefix: str, name: str) -> Shape:
    return {"anyOf": [identifier(prefix), ref(name)]}


PARTS = {
    "Card": schema.record(
        "A card as it may be shown. The number and the security code are never shown.",
        {
            "brand": nullable(schema.BRAND.open("The card network; null if it is unknown.")),
            "bin": {**text("The first 6 digits of the number."), "pattern": "^[0-9]{6}$"},
            "last4": {**text("The last 4 digits of the number."), "pattern": "^[0-9]{4}$"},
            "masked": text("The first 6 digits, asterisks, and the last 4 digits."),
            "exp_month": {
                **schema.integer("The last month of validity, 1 to 12.", minimum=1),
                "maximum": 12,
            },
            "exp_year": schema.integer("The last year of validity, in four digits.", minimum=2000),
            "card_type": schema.CARD_TYPE.open("What the card draws on."),
            "domestic": schema.boolean("Whether it was issued in your account's country."),
        },
    ),
    "NextAction": schema.record(
        "What the customer must do before the payment goes on.",
        {
            "type": _NEXT_ACTION.open("What kind of action it is."),
            "redirect_to_url": named(
                "RedirectToUrl",
                schema.record(
                    "Where to send the customer.",
                    {
                        "url": text("Send the customer's browser here."),
                        "return_url": text(
                            "The customer comes back here; it is your `return_url`."
                        ),
                    },
                ),
            ),
        },
    ),
    "PaymentError": schema.record(
        "Why an attempt failed.",
        {
            "type": choices.ERROR_TYPE.open("Whether the card or the processing is the reason."),
            "code": choices.ERROR_CODE.open("What happened."),
            "decline_code": nullable(
                choices.DECLINE_CODE.open("The reason of a decline; null if there is none.")
            ),
            "reason": text("The more specific one: `decline_code` if it is set, else `code`."),
            "message": text("A sentence that is safe to show to the payer."),
            "attempt": identifier("att", "The attempt that failed."),
            "network_decline_code": nullable(
                text("The bank's response code (ISO 8583); null if the bank gave none.")
            ),
            "advice_code": nullable(
                choices.ADVICE_CODE.open("What to do next; null if there is no advice.")
            ),
        },
    ),
    "Fraud": schema.record(
        "The judgement about the risk of the payment.",
        {
            "status": choices.FRAUD_STATUS.open("The verdict."),
            "risk_level": choices.RISK_LEVEL.open("The level of the risk."),
            "risk_score": _SCORE,
            "rule": _RULE,
            "updated": instant("When the verdict was given."),
        },
    ),
    "Risk": schema.record(
        "The judgement about the risk of the attempt.",
        {
            "level": choices.RISK_LEVEL.open("The level of the risk."),
            "score": _SCORE,
            "rule": _RULE,
        },
    ),
}


# --- Objects ----------------------------------------------------------------------------------

_PAYMENT: Schemas = {
    "amount": minor("What you asked for."),
    "amount_charged": minor(
        "What the card was debited, surcharge included. Absent until a charge succeeds."
    ),
    "surcharge": minor(f"What the customer pays for installments. {_AT_THE_BANK}"),
    "amount_received": minor(f"What was captured, without the surcharge. {_AT_THE_BANK}"),
    "amount_capturable": minor(f"What is authorised and not captured yet. {_AT_THE_BANK}"),
    "captured_minor": minor(f"What was captured, surcharge included. {_AT_THE_BANK}"),
    "refunded_minor": minor(f"What pending and succeeded refunds give back. {_AT_THE_BANK}"),
    "amount_refundable": minor(f"What can still be refunded. {_AT_THE_BANK}"),
    "card": nullable(
        {**ref("Card"), "description": f"The last card tried; null before one. {_AT_THE_BANK}"}
    ),
    "currency": schema.CURRENCY,
    "status": choices.PAYMENT_STATUS.open("Where the payment stands."),
    "capture_method": _CAPTURE_METHOD,
    "installments": _INSTALLMENTS,
    "payment_method_type": _METHOD_TYPE,
    "three_d_secure": named(
        "PaymentIntentThreeDSecure",
        schema.record("How the customer is authenticated.", _AUTHENTICATION),
    ),
    "next_action": nullable(
        {
            **ref("NextAction"),
            "description": "What the customer must do; null unless `status` is `requires_action`.",
        }
    ),
    "last_payment_error": nullable(
        {**ref("PaymentError"), "description": "Why the last attempt failed; null if none did."}
    ),
    "fraud": nullable(
        {**ref("Fraud"), "description": "The judgement about fraud; null before the first one."}
    ),
    "return_url": nullable(text("Where the customer comes back to after 3-D Secure.")),
    "customer": nullable(
        {
            "anyOf": [identifier("cus"), ref("Customer"), ref("DeletedCustomer")],
            "description": "The customer who pays; null if you gave none. Expandable.",
        }
    ),
    "description": nullable(text("Your own description; null if there is none.")),
    "metadata": schema.METADATA,
    "latest_attempt": nullable(
        whole_or_id("att", "PaymentAttempt", "The newest attempt; null before the first one.")
    ),
    "attempts": schema.array(
        _one("att", "PaymentAttempt"), "All attempts, the oldest first. Expandable."
    ),
    "line_items": schema.array(
        _one("li", "LineItem"), "What is paid for, in your order. Expandable."
    ),
    "canceled_at": nullable(instant("When it was canceled; null if it was not.")),
    "cancellation_reason": nullable(
        choices.SHOWN_CANCELLATION_REASON.open("Why it was canceled; null if it was not.")
    ),
}
_ATTEMPT: Schemas = {
    "payment_intent": whole_or_id("pi", "PaymentIntent", "The payment."),
    "status": choices.ATTEMPT_STATUS.open("Where the attempt stands."),
    "amount": minor("What was asked for, without the surcharge."),
    "surcharge": minor("What the customer pays for installments."),
    "amount_charged": minor("What the card was debited, surcharge included."),
    "currency": schema.CURRENCY,
    "installments": _INSTALLMENTS,
    "capture_method": _CAPTURE_METHOD,
    "payment_method_type": _METHOD_TYPE,
    "card": nullable({**ref("Card"), "description": "The card that was tried."}),
    "three_d_secure": named(
        "PaymentAttemptThreeDSecure",
        schema.record(
            "How the customer was authenticated.",
            {
                **_AUTHENTICATION,
                "flow": nullable(
                    text("`challenge` if the bank asked the customer; null without 3-D Secure.")
                ),
                "result": nullable(text("How it ended; null without 3-D Secure.")),
                "version": nullable(
                    text("The version of the 3-D Secure protocol; null without 3-D Secure.")
                ),
                "eci": nullable(
                    text("The electronic commerce indicator: who is liable. Null if none is known.")
                ),
                "transaction_id": nullable(
                    text("The id of the authentication at the bank; null if none is known.")
                ),
            },
        ),
    ),
    "error": nullable(
        {**ref("PaymentError"), "description": "Why the attempt failed; null if it did not."}
    ),
    "risk": nullable({**ref("Risk"), "description": "The judgement about the attempt's risk."}),
    "authorization_code": nullable(text("The bank's authorisation code; null if there is none.")),
    "network_reference": nullable(text("The card network's reference; null if there is none.")),
    "reversed_at": nullable(
        instant("When a charge that was confirmed too late was given back; null if none was.")
    ),
}
_LINE_ITEM: Schemas = {
    "name": text("What is paid for."),
    "quantity": schema.integer("How many pieces.", minimum=1),
    "unit_amount": minor("The price of one piece."),
    "amount": minor("quantity × unit_amount + tax_amount − discount_amount."),
    "currency": schema.CURRENCY,
    "tax_amount": minor("The tax on the whole line."),
    "discount_amount": minor("The discount on the whole line."),
    "product_code": nullable(text("Your own product code; null if you gave none.")),
    "category": nullable(text("Your own category; null if you gave none.")),
    "item_type": nullable(choices.ITEM_TYPE.open("What kind of thing it is; null if not given.")),
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
        "payment_attempt", "att", "One attempt to be paid with one card.", _ATTEMPT
    ),
    "LineItem": schema.resource(
        "line_item", "li", "One line of a payment: a product, its number and its price.", _LINE_ITEM
    ),
}
