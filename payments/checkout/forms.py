"""The bodies of /v1/checkout/sessions, declared (contract: Checkout)."""

from typing import Any

from rest_framework import serializers

from core.errors import ParameterInvalid, ParameterMissing
from core.money import MAX_REQUESTED_MINOR
from core.rest.fields import (
    Amount,
    Boolean,
    Choice,
    Currency,
    Email,
    Integer,
    Metadata,
    Shape,
    Text,
)
from core.rest.forms import Form, Refused
from core.rest.list_query import ParametersExclusive
from payments.checkout.models import INSTALLMENTS_MAX
from payments.checkout.states import Authentication, Locale
from payments.intents.forms import ID_MAX, URL_MAX, BillingDetailsForm, LineItemForm
from payments.intents.models import PaymentIntent

LINES_MAX = 100
IMAGES_MAX = 8
UNIX_MAX = 253_402_300_799  # The last second that a date can name.
# A session is for exactly one of these.
SOURCES = ("payment_intent", "line_items", "amount")


class Off(Boolean):
    """A switch of Stripe's that is off here."""

    shape: Shape = {"const": False}
    default_error_messages = {"parameter_invalid": "Must be false."}

    def to_internal_value(self, data: Any) -> bool:
        if super().to_internal_value(data):
            self.fail("parameter_invalid")
        return False


def _list_of(field: serializers.Field, *, most: int) -> serializers.ListSerializer:
    several = f"Must be an array of 1 to {most} elements."
    return serializers.ListSerializer(
        child=field,
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=most,
        error_messages=dict.fromkeys(("not_a_list", "empty", "max_length"), several),
    )


class ProductDataForm(Form):
    """The product of a line: its name is shown, the rest is taken."""

    name = Text(max_length=500)
    description = Text(max_length=5000, required=False)
    images = _list_of(Text(max_length=URL_MAX), most=IMAGES_MAX)
    metadata = Metadata(required=False)


class PriceDataForm(Form):
    currency = Currency()
    unit_amount = Amount(minimum=0)
    product_data = ProductDataForm()


class CheckoutLineForm(LineItemForm):
    """A line: as a payment has them, or by `price_data` as Stripe's SDKs write them."""

    name = Text(max_length=500, required=False)
    unit_amount = Amount(minimum=0, required=False)
    price_data = PriceDataForm(required=False)

    def validate(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the line as a payment has it; with its `currency` if it has `price_data`."""
        given = dict(item)
        price = given.pop("price_data", None)
        if price is None:
            _require(given, "name", "unit_amount")
            return super().validate(given)
        if given.keys() - {"quantity"}:
            raise ParametersExclusive(
                "A line has its own fields or price_data, not both.", param="line_items"
            )
        named = {"name": price["product_data"]["name"], "unit_amount": price["unit_amount"]}
        return {**super().validate({**given, **named}), "currency": price["currency"]}


def _require(given: dict[str, Any], *names: str) -> None:
    for name in names:
        if given.get(name) is None:
            raise serializers.ValidationError({name: ["Is missing."]}, code="required")


class CheckoutPaymentForm(Form):
    """The terms of the payment that a session makes."""

    capture_method = Choice(tuple(PaymentIntent.CaptureMethod.values), required=False)
    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)


class CheckoutInstallmentsForm(Form):
    enabled = Boolean(required=False)
    max = Integer(minimum=2, maximum=INSTALLMENTS_MAX, required=False)


class CheckoutCardForm(Form):
    three_d_secure = Choice(tuple(Authentication.values), required=False)
    installments = CheckoutInstallmentsForm(required=False)


class CheckoutMethodForm(Form):
    card = CheckoutCardForm(required=False)


class AutomaticTaxForm(Form):
    enabled = Off()


class CreateSessionForm(Form):
    codes = ("amount_too_small", "amount_too_large")

    payment_intent = Text(max_length=ID_MAX, required=False)
    line_items = _list_of(CheckoutLineForm(), most=LINES_MAX)
    amount = Amount(required=False)
    currency = Currency(required=False)
    success_url = Text(max_length=URL_MAX, required=False)
    cancel_url = Text(max_length=URL_MAX, required=False)
    expires_at = Integer(minimum=0, maximum=UNIX_MAX, required=False)
    locale = Choice(tuple(Locale.values), required=False)
    customer = Text(max_length=ID_MAX, required=False)
    customer_email = Email(required=False)
    billing_details = BillingDetailsForm(required=False)
    client_reference_id = Text(max_length=200, required=False)
    metadata = Metadata(required=False)
    payment_intent_data = CheckoutPaymentForm(required=False)
    payment_method_options = CheckoutMethodForm(required=False)
    # Of Stripe's: taken with the one value that is true here.
    mode = Choice(("payment",), required=False)
    ui_mode = Choice(("hosted_page", "hosted"), required=False)
    payment_method_types = _list_of(Choice(("card",)), most=1)
    submit_type = Choice(("auto", "pay"), required=False)
    billing_address_collection = Choice(("auto", "required"), required=False)
    customer_creation = Choice(("if_required",), required=False)
    allow_promotion_codes = Off(required=False)
    automatic_tax = AutomaticTaxForm(required=False)

    def validate(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Return the draft with the amount and the currency that its lines make.

        :raises ParameterMissing: nothing says what is to be paid.
        :raises ParametersExclusive: more than one thing does.
        """
        sources = [name for name in SOURCES if draft.get(name) is not None]
        if not sources:
            alone = "amount" if "currency" in draft else "line_items"
            message = "Give payment_intent, line_items, or amount with currency."
            raise ParameterMissing(message, param=alone)
        if len(sources) > 1:
            message = "Give one of payment_intent, line_items and amount."
            raise ParametersExclusive(message, param=sources[1])
        if sources == ["payment_intent"]:
            _refuse_terms(draft)
            return draft
        if sources == ["line_items"]:
            draft = _with_sum(draft)
        if draft.get("currency") is None:
            raise ParameterMissing(param="currency")
        return draft


def _refuse_terms(draft: dict[str, Any]) -> None:
    for name in ("currency", "payment_intent_data"):
        if draft.get(name) is not None:
            message = "The payment has its own terms: change them there."
            raise ParametersExclusive(message, param=name)


def _with_sum(draft: dict[str, Any]) -> dict[str, Any]:
    """Return a draft with the sum of its lines, and with their currency if they bring one."""
    lines = [dict(line) for line in draft["line_items"]]
    currencies = [line.pop("currency", None) for line in lines]
    own = draft.get("currency")
    first = currencies[0]
    if (first is None) != (None in currencies) or currencies.count(None) not in (0, len(lines)):
        message = "All lines have their own fields, or all have price_data."
        raise ParametersExclusive(message, param="line_items")
    for index, currency in enumerate(currencies):
        if currency != first:
            name = f"line_items[{index}][price_data][currency]"
            raise ParameterInvalid("All lines have one currency.", param=name)
    if first and own and first != own:
        raise ParameterInvalid("The lines have another currency.", param="currency")
    amount = sum(line["amount"] for line in lines)
    if amount < 1:
        raise Refused("amount_too_small", "The lines sum to less than 1.", param="line_items")
    if amount > MAX_REQUESTED_MINOR:
        raise Refused("amount_too_large", "The lines' sum is too large.", param="line_items")
    return {**draft, "line_items": lines, "amount": amount, "currency": first or own}


class UpdateSessionForm(Form):
    null_clears = True

    metadata = Metadata(required=False)


class ExpireSessionForm(Form):
    """Nothing: a body with any parameter is refused."""
