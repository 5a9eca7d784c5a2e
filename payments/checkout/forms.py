"""The bodies of /v1/checkout/sessions, declared (contract: Checkout)."""

from typing import Any

from rest_framework import serializers

from core.errors import ParameterInvalid, ParameterMissing
from core.money import MAX_REQUESTED_MINOR
from core.rest.components import Choices, Shape
from core.rest.fields import (
    Address,
    Amount,
    Boolean,
    Choice,
    Currency,
    Email,
    Integer,
    Metadata,
    Text,
)
from core.rest.forms import Form, Refused
from core.rest.list_query import ParametersExclusive
from payments.checkout.models import INSTALLMENTS_MAX
from payments.checkout.render import LOCALE, MODE
from payments.checkout.states import Authentication
from payments.intents.choices import CAPTURE_METHOD, METHOD_TYPE
from payments.intents.forms import ID_MAX, BillingDetailsForm, LineItemForm

LINES_MAX = 100
IMAGES_MAX = 8
UNIX_MAX = 253_402_300_799  # The last second that a date can name.
WITH_ID = "`{CHECKOUT_SESSION_ID}` in it becomes the session's id."
# A session is for exactly one of these.
SOURCES = ("payment_intent", "line_items", "amount")


AUTHENTICATION = Choices(
    "CheckoutThreeDSecureRequest",
    {
        Authentication.AUTOMATIC: "If the card, the bank or your limits ask for it.",
        Authentication.REQUIRED: "Always.",
    },
)
_UI_MODE = Choices(
    "CheckoutUiMode",
    {"hosted_page": "A page of the service's own.", "hosted": "The same, as Stripe calls it."},
)
_SUBMIT = Choices(
    "CheckoutSubmitType", {"auto": "The same as `pay`.", "pay": "The button says that it pays."}
)
_ADDRESS = Choices(
    "CheckoutBillingAddressCollection",
    {"auto": "The page asks for the address.", "required": "The same."},
)
_CREATION = Choices(
    "CheckoutCustomerCreation", {"if_required": "No customer is created by the page."}
)


class AddressWithId(Address):
    """An address in which the session's id may have a placeholder, whose braces no URI has."""

    @property
    def shape(self) -> Shape:
        return {name: value for name, value in super().shape.items() if name != "format"}


class Off(Boolean):
    """A switch of Stripe's that is off here."""

    shape: Shape = {"const": False}
    default_error_messages = {"parameter_invalid": "Must be false."}

    def to_internal_value(self, data: Any) -> bool:
        if super().to_internal_value(data):
            self.fail("parameter_invalid")
        return False


def _list_of(field: serializers.Field, *, most: int, help_text: str) -> serializers.ListSerializer:
    several = f"Must be an array of 1 to {most} elements."
    return serializers.ListSerializer(
        child=field,
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=most,
        help_text=f"{help_text} 1 to {most}.",
        error_messages=dict.fromkeys(("not_a_list", "empty", "max_length"), several),
    )


class ProductDataForm(Form):
    """The product of a line: its name is shown, the rest is taken."""

    schema_name = "CheckoutProductDataParams"

    name = Text(max_length=500, help_text="The name of the product. Up to 500 characters.")
    description = Text(
        max_length=5000,
        required=False,
        help_text="Taken and not shown. Up to 5000 characters.",
    )
    images = _list_of(Address(), most=IMAGES_MAX, help_text="Addresses, taken and not shown.")
    metadata = Metadata(required=False)


class PriceDataForm(Form):
    schema_name = "CheckoutPriceDataParams"

    currency = Currency(help_text="The currency's three letters (ISO 4217), in any case.")
    unit_amount = Amount(minimum=0, help_text="The price of one piece, in minor units.")
    product_data = ProductDataForm(help_text="The product.")


class CheckoutLineForm(LineItemForm):
    """A line: as a payment has them, or by `price_data` as Stripe's SDKs write them."""

    schema_name = "CheckoutLineItemParams"

    name = Text(
        max_length=500,
        required=False,
        help_text="What is paid for. Required without `price_data`. Up to 500 characters.",
    )
    unit_amount = Amount(
        minimum=0,
        required=False,
        help_text="The price of one piece, in minor units. Required without `price_data`.",
    )
    price_data = PriceDataForm(
        required=False, help_text="The price and the product, instead of `name` and `unit_amount`."
    )

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

    schema_name = "CheckoutPaymentParams"

    capture_method = Choice(
        CAPTURE_METHOD, required=False, help_text="When the money is taken. Default: `automatic`."
    )
    description = Text(
        max_length=1000,
        required=False,
        help_text="The description of the payment. Up to 1000 characters.",
    )
    metadata = Metadata(required=False)


class CheckoutInstallmentsForm(Form):
    schema_name = "CheckoutInstallmentsParams"

    enabled = Boolean(
        required=False, help_text="Whether the payer may choose installments. Default: true."
    )
    max = Integer(
        minimum=2,
        maximum=INSTALLMENTS_MAX,
        required=False,
        help_text="The highest count that the page offers. Default: the highest of your plans.",
    )


class CheckoutCardForm(Form):
    schema_name = "CheckoutCardParams"

    three_d_secure = Choice(
        AUTHENTICATION,
        required=False,
        help_text="When to authenticate the payer by 3-D Secure. Default: `automatic`.",
    )
    installments = CheckoutInstallmentsForm(
        required=False, help_text="The installments that the page offers."
    )


class CheckoutMethodForm(Form):
    schema_name = "CheckoutMethodParams"

    card = CheckoutCardForm(required=False, help_text="Options for cards.")


class AutomaticTaxForm(Form):
    schema_name = "CheckoutTaxParams"

    enabled = Off(help_text="Only false: the service computes no tax.")


class CreateSessionForm(Form):
    codes = ("amount_too_small", "amount_too_large")

    schema_name = "CheckoutSessionCreateParams"

    payment_intent = Text(
        max_length=ID_MAX,
        required=False,
        help_text="The id of a payment that waits for a card. Absent: one is made.",
    )
    line_items = _list_of(
        CheckoutLineForm(),
        most=LINES_MAX,
        help_text="What is paid for, instead of `amount` or `payment_intent`.",
    )
    amount = Amount(
        required=False,
        help_text="The amount in minor units, instead of `line_items` or `payment_intent`.",
    )
    currency = Currency(
        required=False,
        help_text="The currency's three letters (ISO 4217). Required with `amount`.",
    )
    success_url = AddressWithId(
        required=False,
        help_text=f"Where the payer goes after the payment. {WITH_ID} Absent: nowhere.",
    )
    cancel_url = AddressWithId(
        required=False, help_text=f"Where the payer can go back to. {WITH_ID} Absent: nowhere."
    )
    expires_at = Integer(
        minimum=0,
        maximum=UNIX_MAX,
        required=False,
        help_text="When it ends without a payment, in Unix seconds: 5 minutes to 30 days from now.",
    )
    locale = Choice(LOCALE, required=False, help_text="The language of the page. Default: `auto`.")
    customer = Text(
        max_length=ID_MAX,
        required=False,
        help_text="The id of the customer who pays. Absent: none is attached.",
    )
    customer_email = Email(
        required=False,
        help_text="The payer's e-mail address, which the page shows. Up to 254 characters.",
    )
    billing_details = BillingDetailsForm(
        required=False, help_text="The payer's billing details, which the page shows."
    )
    client_reference_id = Text(
        max_length=200,
        required=False,
        help_text="Your own id of the order or cart. Up to 200 characters.",
    )
    metadata = Metadata(required=False)
    payment_intent_data = CheckoutPaymentForm(
        required=False, help_text="Terms of the payment that the session makes."
    )
    payment_method_options = CheckoutMethodForm(
        required=False, help_text="Options for the payment method."
    )
    # Of Stripe's: taken with the one value that is true here.
    mode = Choice(MODE, required=False, help_text="Only `payment`, which is the default.")
    ui_mode = Choice(_UI_MODE, required=False, help_text="The page. Default: `hosted_page`.")
    payment_method_types = _list_of(
        Choice(METHOD_TYPE), most=1, help_text="Only `card`, which is the default."
    )
    submit_type = Choice(_SUBMIT, required=False, help_text="The button. Default: `pay`.")
    billing_address_collection = Choice(
        _ADDRESS, required=False, help_text="Taken; the page always asks for what the bank needs."
    )
    customer_creation = Choice(
        _CREATION, required=False, help_text="Only `if_required`, which is the default."
    )
    allow_promotion_codes = Off(
        required=False, help_text="Only false, which is the default: there are none."
    )
    automatic_tax = AutomaticTaxForm(
        required=False, help_text="Only `enabled: false`, which is the default."
    )

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
    schema_name = "CheckoutSessionUpdateParams"
    null_clears = True

    metadata = Metadata(required=False)


class ExpireSessionForm(Form):
    """Nothing: a body with any parameter is refused."""

    schema_name = "CheckoutSessionExpireParams"
