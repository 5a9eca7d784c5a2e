"""The bodies of /v1's payment endpoints, declared (spec: Payment creation parameters)."""

from collections.abc import Iterator
from typing import Any

from rest_framework import serializers

from core import urls
from core.rest.brackets import bracketed
from core.rest.fields import (
    Address,
    Amount,
    Boolean,
    Choice,
    Currency,
    Email,
    Integer,
    Metadata,
    Name,
    NetworkAddress,
    Text,
)
from core.rest.forms import Form, form_of, required_within
from payments.customers.forms import AddressForm
from payments.intents.cards import CardField
from payments.intents.choices import (
    AUTHENTICATION,
    CANCELLATION_REASON,
    CAPTURE_METHOD,
    ITEM_TYPE,
    METHOD_TYPE,
)

ID_MAX = 255
LINE_ITEMS_MAX = 200
CONFIRMED = ("true", "True")  # As a form writes it.
CANCELLATION_REASONS = CANCELLATION_REASON.words


# Billing details that the bank asks for (contract 3).
BILLING_REQUIRED = (
    ("name",), ("email",), ("address", "line1"), ("address", "city"), ("address", "country"),
)  # fmt: skip


def lacking_billing(details: Any) -> Iterator[str]:
    """Yield the billing details that a confirm lacks, by their full names."""
    for path in BILLING_REQUIRED:
        value: Any = details
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if not value:
            yield bracketed(("payment_method_data", "billing_details", *path))


class BillingDetailsForm(Form):
    schema_name = "BillingDetailsParams"

    name = Name(
        max_length=200,
        required=False,
        help_text="The payer's name. A confirmation needs it. Up to 200 characters.",
    )
    email = Email(
        required=False,
        help_text="The payer's e-mail address. A confirmation needs it. Up to 254 characters.",
    )
    address = AddressForm(
        required=False,
        help_text="The billing address. A confirmation needs `line1`, `city` and `country`.",
    )


_CARD = (
    "The card. Its number is kept in the vault alone. Its security code is never written to a "
    "disk, and is gone after one attempt or 15 minutes."
)


class PaymentMethodForm(Form):
    schema_name = "PaymentMethodData"

    type = Choice(METHOD_TYPE, help_text="The kind of payment method.")
    card = CardField(help_text=_CARD)
    billing_details = BillingDetailsForm(
        required=False, help_text="The payer's name, e-mail address and billing address."
    )


class ConfirmedMethodForm(PaymentMethodForm):
    """At confirm the card may be the one stored with the payment."""

    schema_name = "PaymentMethodDataAtConfirm"

    card = CardField(
        required=False, help_text=f"{_CARD} Absent: the card that was stored with the payment."
    )


class CardOptionsForm(Form):
    schema_name = "CardOptionsParams"

    three_d_secure = Choice(
        AUTHENTICATION,
        required=False,
        help_text="When to authenticate the customer by 3-D Secure. Default: `automatic`.",
    )


class PaymentMethodOptionsForm(Form):
    schema_name = "PaymentMethodOptionsParams"

    card = CardOptionsForm(required=False, help_text="Options for cards.")


class LineItemForm(Form):
    schema_name = "LineItemParams"
    codes = ("amount_too_large",)

    name = Text(max_length=500, help_text="What is paid for. Up to 500 characters.")
    quantity = Integer(
        minimum=1, maximum=1_000_000, required=False, help_text="How many pieces. Default: 1."
    )
    unit_amount = Amount(minimum=0, help_text="The price of one piece, in minor units.")
    tax_amount = Amount(
        minimum=0,
        required=False,
        help_text="The tax on the whole line, in minor units. Default: 0.",
    )
    discount_amount = Amount(
        minimum=0,
        required=False,
        help_text=(
            "The discount on the whole line, in minor units, no more than the line. Default: 0."
        ),
    )
    product_code = Text(
        max_length=200, required=False, help_text="Your own product code. Up to 200 characters."
    )
    category = Text(
        max_length=200, required=False, help_text="Your own category. Up to 200 characters."
    )
    item_type = Choice(ITEM_TYPE, required=False, help_text="What kind of thing it is.")

    def validate(self, item: dict[str, Any]) -> dict[str, Any]:
        """Work out the line's amount, quantity × unit + tax − discount, which may not be < 0."""
        item = {"quantity": 1, "tax_amount": 0, "discount_amount": 0, **item}
        whole = item["quantity"] * item["unit_amount"]
        item["amount"] = whole + item["tax_amount"] - item["discount_amount"]
        if item["amount"] < 0:
            message = "The discount is more than the line."
            raise serializers.ValidationError(
                {"discount_amount": [message]}, code="amount_too_large"
            )
        if item["amount"] > Amount().maximum:
            message = "The line's amount is too large."
            raise serializers.ValidationError({"unit_amount": [message]}, code="amount_too_large")
        return item


def line_items() -> serializers.ListSerializer:
    # Not `many=True`, which would hand `allow_null` down to the lines themselves.
    several = f"Must be an array of up to {LINE_ITEMS_MAX} objects."
    return serializers.ListSerializer(
        child=LineItemForm(),
        required=False,
        allow_null=True,
        max_length=LINE_ITEMS_MAX,
        error_messages={"not_a_list": several, "max_length": several},
        help_text=(
            f"What is paid for, up to {LINE_ITEMS_MAX} lines. Their amounts must add up to "
            "`amount`. Absent: no lines are kept."
        ),
    )


_AMOUNT = "The amount in minor units: 12500 with `try` is 125.00 TRY."
_CURRENCY = "The currency's three letters (ISO 4217), in any case."
_CUSTOMER = "The id of the customer who pays."
_DESCRIPTION = "Your own description. Up to 1000 characters. Payments are found by its beginning."
_INSTALLMENTS = (
    "In how many installments the customer pays. Above 1, one of the counts that "
    "`GET /v1/installments` offers for the card."
)
_SURCHARGE = (
    "The surcharge in minor units that you showed to the customer. If it is not the true one, the "
    "request is refused with `surcharge_mismatch`. Absent: the true one applies."
)
_RETURN_URL = (
    "Where the customer comes back to after 3-D Secure. It lies on a "
    "registered website (https) or under a registered "
    f"callback URL, and has up to {urls.MAX_LENGTH} characters. Required if "
    "3-D Secure is certain: with `three_d_secure: required`, a debit card, or an amount above your "
    "limit without 3-D Secure."
)
_OPTIONS = "Options for the payment method."
_PAYER_IP = (
    "The payer's IPv4 or IPv6 address, which banks ask for. It is kept sealed with the card, for "
    "as long as its number is. In live it is a public one."
)


class CreateIntentForm(Form):
    schema_name = "PaymentIntentCreateParams"

    amount = Amount(help_text=_AMOUNT)
    currency = Currency(help_text=_CURRENCY)
    capture_method = Choice(
        CAPTURE_METHOD, required=False, help_text="When the money is taken. Default: `automatic`."
    )
    confirm = Boolean(
        required=False,
        help_text=(
            "True makes the payment in the same call, and needs `payment_method_data`. Default: "
            "false, the payment waits for `confirm`."
        ),
    )
    payment_method_data = PaymentMethodForm(
        required=False,
        help_text="The card and its owner. Required with `confirm: true`.",
    )
    payment_method_options = PaymentMethodOptionsForm(required=False, help_text=_OPTIONS)
    return_url = Address(required=False, help_text=_RETURN_URL)
    description = Text(max_length=1000, required=False, help_text=_DESCRIPTION)
    metadata = Metadata(required=False)
    customer = Text(
        max_length=ID_MAX, required=False, help_text=f"{_CUSTOMER} Absent: none is attached."
    )
    installments = Integer(
        minimum=1, maximum=99, required=False, help_text=f"{_INSTALLMENTS} Default: 1."
    )
    surcharge = Amount(minimum=0, required=False, help_text=_SURCHARGE)
    payer_ip = NetworkAddress(
        required=False,
        help_text=f"{_PAYER_IP} Send it with the card. Absent: the one that is seen.",
    )
    line_items = line_items()

    def validate(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Refuse an address without the card that it is sealed with."""
        if draft.get("payer_ip") and not draft.get("payment_method_data"):
            message = "Send payer_ip with the card: it is kept together with its number alone."
            raise serializers.ValidationError({"payer_ip": [message]}, code="parameter_invalid")
        return draft

    def lacking_too(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Return the billing details that a create with `confirm` lacks."""
        if body.get("confirm") not in (True, *CONFIRMED):
            return ()
        method = body.get("payment_method_data")
        if method is None:
            return lacking_method({})
        details = method.get("billing_details") if isinstance(method, dict) else None
        return tuple(lacking_billing(details))


def lacking_method(details: Any, *inside: str) -> tuple[str, ...]:
    """Return what a confirm without a card lacks: the card, and of the billing details the rest.

    :param details: those that are known.
    :param inside: the part of `payment_method_data` that is missing; nothing for all of it.
    """
    field: Any = form_of(PaymentMethodForm)
    for name in inside:
        field = field.fields[name]
    method = required_within(field, ("payment_method_data", *inside))
    return (*method, *lacking_billing(details))


_BEFORE = "It can be changed before the first attempt only."


class UpdateIntentForm(Form):
    schema_name = "PaymentIntentUpdateParams"
    schema_description = "Fields that are absent stay as they are."
    null_clears = True
    never_null = ("amount", "currency")

    amount = Amount(required=False, help_text=f"{_AMOUNT} {_BEFORE}")
    currency = Currency(required=False, help_text=f"{_CURRENCY} {_BEFORE}")
    customer = Text(max_length=ID_MAX, required=False, help_text=f"{_CUSTOMER} {_BEFORE}")
    installments = Integer(
        minimum=1, maximum=99, required=False, help_text=f"{_INSTALLMENTS} {_BEFORE}"
    )
    line_items = line_items()
    description = Text(max_length=1000, required=False, help_text=_DESCRIPTION)
    metadata = Metadata(required=False)

    def validate(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Null clears what may be empty; an amount and a currency may not."""
        for name in self.never_null:
            if name in changes and changes[name] is None:
                raise serializers.ValidationError({name: ["May not be cleared."]}, code="null")
        return changes


class ConfirmIntentForm(Form):
    schema_name = "PaymentIntentConfirmParams"

    return_url = Address(required=False, help_text=f"{_RETURN_URL} Absent: the one of the payment.")
    payment_method_data = ConfirmedMethodForm(
        required=False,
        help_text=(
            "The card and its owner. Absent: what was stored with the payment. Required after a "
            "failed attempt, and while the customer is at the bank."
        ),
    )
    payment_method_options = PaymentMethodOptionsForm(
        required=False, help_text=f"{_OPTIONS} Absent: those of the payment."
    )
    installments = Integer(
        minimum=1,
        maximum=99,
        required=False,
        help_text=f"{_INSTALLMENTS} Absent: the count of the payment.",
    )
    surcharge = Amount(minimum=0, required=False, help_text=_SURCHARGE)
    payer_ip = NetworkAddress(
        required=False,
        help_text=f"{_PAYER_IP} Absent: the one of the stored card, or the one that is seen.",
    )


class CaptureIntentForm(Form):
    schema_name = "PaymentIntentCaptureParams"

    amount_to_capture = Amount(
        required=False,
        allow_null=True,
        help_text=(
            "How much to capture, in minor units, up to `amount_capturable`. The rest is released. "
            "Absent: all of it."
        ),
    )


class CancelIntentForm(Form):
    schema_name = "PaymentIntentCancelParams"

    cancellation_reason = Choice(
        CANCELLATION_REASON,
        required=False,
        allow_null=True,
        help_text="Why you cancel the payment. Absent: no reason is kept.",
    )
