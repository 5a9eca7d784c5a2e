"""The bodies of /v1's payment endpoints, declared (spec: Payment creation parameters)."""

from collections.abc import Iterator
from typing import Any

from rest_framework import serializers

from core.rest.brackets import bracketed
from core.rest.fields import (
    Amount,
    Boolean,
    Choice,
    Currency,
    Email,
    Integer,
    Metadata,
    Name,
    Text,
)
from core.rest.forms import Form, form_of, required_within
from payments.customers.forms import AddressForm
from payments.intents.cards import CardField

ID_MAX = 255
URL_MAX = 100_000  # Longer than any that is allowed: the return-URL rule refuses it by name.
LINE_ITEMS_MAX = 200
CONFIRMED = ("true", "True")  # As a form writes it.
CANCELLATION_REASONS = ("duplicate", "fraudulent", "requested_by_customer", "abandoned")


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
    name = Name(max_length=200, required=False)
    email = Email(required=False)
    address = AddressForm(required=False)


class PaymentMethodForm(Form):
    type = Choice(("card",))
    card = CardField()
    billing_details = BillingDetailsForm(required=False)


class ConfirmedMethodForm(PaymentMethodForm):
    """At confirm the card may be the one stored with the payment."""

    card = CardField(required=False)


class CardOptionsForm(Form):
    three_d_secure = Choice(("automatic", "required", "none"), required=False)


class PaymentMethodOptionsForm(Form):
    card = CardOptionsForm(required=False)


class LineItemForm(Form):
    codes = ("amount_too_large",)

    name = Text(max_length=500)
    quantity = Integer(minimum=1, maximum=1_000_000, required=False)
    unit_amount = Amount(minimum=0)
    tax_amount = Amount(minimum=0, required=False)
    discount_amount = Amount(minimum=0, required=False)
    product_code = Text(max_length=200, required=False)
    category = Text(max_length=200, required=False)
    item_type = Choice(("physical", "virtual"), required=False)

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
    )


class CreateIntentForm(Form):
    amount = Amount()
    currency = Currency()
    capture_method = Choice(("automatic", "manual"), required=False)
    confirm = Boolean(required=False)
    payment_method_data = PaymentMethodForm(required=False)
    payment_method_options = PaymentMethodOptionsForm(required=False)
    return_url = Text(max_length=URL_MAX, required=False)
    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)
    customer = Text(max_length=ID_MAX, required=False)
    installments = Integer(minimum=1, maximum=99, required=False)
    surcharge = Amount(minimum=0, required=False)
    line_items = line_items()

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


class UpdateIntentForm(Form):
    null_clears = True

    amount = Amount(required=False)
    currency = Currency(required=False)
    customer = Text(max_length=ID_MAX, required=False)
    installments = Integer(minimum=1, maximum=99, required=False)
    line_items = line_items()
    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)

    def validate(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Null clears what may be empty; an amount and a currency may not."""
        for name in ("amount", "currency"):
            if name in changes and changes[name] is None:
                raise serializers.ValidationError({name: ["May not be cleared."]}, code="null")
        return changes


class ConfirmIntentForm(Form):
    return_url = Text(max_length=URL_MAX, required=False)
    payment_method_data = ConfirmedMethodForm(required=False)
    payment_method_options = PaymentMethodOptionsForm(required=False)
    installments = Integer(minimum=1, maximum=99, required=False)
    surcharge = Amount(minimum=0, required=False)


class CaptureIntentForm(Form):
    amount_to_capture = Amount(required=False, allow_null=True)


class CancelIntentForm(Form):
    cancellation_reason = Choice(CANCELLATION_REASONS, required=False, allow_null=True)
