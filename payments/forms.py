"""The bodies of /v1's payment endpoints, declared (spec: Payment creation parameters)."""

import re
from typing import Any

from rest_framework import serializers

from core import clock
from core.cards import CardData, brand_of, luhn_valid
from core.rest.fields import (
    Amount,
    Boolean,
    Choice,
    Country,
    Currency,
    Email,
    Integer,
    Metadata,
    Shape,
    Text,
)
from core.rest.forms import Form
from core.rest.parsers import CardInput

ID_MAX = 255
URL_MAX = 100_000  # Longer than any that is allowed: the return-URL rule refuses it by name.
LINE_ITEMS_MAX = 200
LOCALES_MAX = 20
LOCALE = re.compile("([A-Za-z]{2,3})(?:-([A-Za-z]{4}))?(?:-([A-Za-z]{2}|[0-9]{3}))?")
CENTURY = (2000, 2099)
CANCELLATION_REASONS = ("duplicate", "fraudulent", "requested_by_customer", "abandoned")


class ExpiryMonth(Integer):
    too_small = too_large = "invalid_expiry_month"
    default_error_messages = {"invalid_expiry_month": "Must be a month, 1 to 12."}


class ExpiryYear(Integer):
    too_small = too_large = "invalid_expiry_year"
    default_error_messages = {"invalid_expiry_year": "Must be a year of four digits."}


class CardForm(Form):
    codes = ("incorrect_number", "invalid_cvc", "expired_card")

    number = Text(max_length=40)
    exp_month = ExpiryMonth(minimum=1, maximum=12)
    exp_year = ExpiryYear(minimum=CENTURY[0], maximum=CENTURY[1])
    cvc = Text(max_length=20)
    holder_name = Text(max_length=200, required=False)

    def validate_number(self, number: str) -> str:
        digits = number.replace(" ", "").replace("-", "")
        if not 12 <= len(digits) <= 19 or not luhn_valid(digits):
            raise serializers.ValidationError(
                "The card number is not right.", code="incorrect_number"
            )
        return digits

    def validate(self, card: dict[str, Any]) -> dict[str, Any]:
        """What is wrong with the card on its face is refused before an attempt exists."""
        length = _cvc_length(card["number"])
        if not _is_cvc(card["cvc"], length):
            message = f"The security code must have {length} digits."
            raise serializers.ValidationError({"cvc": [message]}, code="invalid_cvc")
        today = clock.now()
        if (card["exp_year"], card["exp_month"]) < (today.year, today.month):
            message = "The card has expired."
            raise serializers.ValidationError({"exp_year": [message]}, code="expired_card")
        return card


def _cvc_length(number: str) -> int:
    return 4 if brand_of(number) == "amex" else 3


def _is_cvc(cvc: str, length: int) -> bool:
    return cvc.isascii() and cvc.isdigit() and len(cvc) == length


def cvc_of(body: dict[str, Any]) -> str | None:
    """Return the CVC of a body whose card was accepted before; None if it has no right one.

    A retry is the same request but for its CVC, which was compared with nothing.
    """
    method = body.get("payment_method_data")
    card = method.get("card") if isinstance(method, dict) else None
    if not isinstance(card, CardInput):
        return None
    cvc, length = card.fields.get("cvc"), _cvc_length(str(card.fields.get("number")))
    return cvc if isinstance(cvc, str) and _is_cvc(cvc, length) else None


class CardField(serializers.Field):
    """The card, lifted out of the body by the parser; becomes a redacting CardData."""

    form = CardForm
    default_error_messages = {"parameter_invalid": "Must be an object."}

    def to_internal_value(self, data: Any) -> CardData:
        if not isinstance(data, CardInput):
            self.fail("parameter_invalid")
        return CardData(**CardForm.read(data.fields))


class AddressForm(Form):
    line1 = Text(max_length=500, required=False)
    line2 = Text(max_length=500, required=False)
    city = Text(max_length=200, required=False)
    state = Text(max_length=200, required=False)
    postal_code = Text(max_length=40, required=False)
    country = Country(required=False)


class BillingDetailsForm(Form):
    name = Text(max_length=200, required=False)
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
    return serializers.ListSerializer(
        child=LineItemForm(), required=False, allow_null=True, max_length=LINE_ITEMS_MAX
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


class CaptureIntentForm(Form):
    amount_to_capture = Amount(required=False, allow_null=True)


class CancelIntentForm(Form):
    cancellation_reason = Choice(CANCELLATION_REASONS, required=False, allow_null=True)


# --- Customers --------------------------------------------------------------------------------


class Locales(serializers.Field):
    """Languages in the order that someone prefers them: `["tr-TR", "en"]`, each once."""

    shape: Shape = {
        "type": "array",
        "items": {"type": "string", "pattern": f"^{LOCALE.pattern}$"},
        "maxItems": LOCALES_MAX,
    }
    default_error_messages = {
        "parameter_invalid": f"Must be an array of up to {LOCALES_MAX} locales.",
        "unknown": "Must be a language, with or without script and region: en, tr-TR, zh-Hant-TW.",
        "repeated": "The locale is named twice.",
    }

    def to_internal_value(self, data: Any) -> list[str]:
        if not isinstance(data, list) or len(data) > LOCALES_MAX:
            self.fail("parameter_invalid")
        locales: list[str] = []
        for index, text in enumerate(data):
            locale = _locale(text)
            if locale is None or locale in locales:
                message = self.error_messages["repeated" if locale else "unknown"]
                raise serializers.ValidationError({index: [message]}, code="parameter_invalid")
            locales.append(locale)
        return locales


def _locale(text: Any) -> str | None:
    """Return a locale as it is usually written, `tr-TR`; None if it is none."""
    found = LOCALE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    language, script, region = found.groups()
    parts = (language.lower(), (script or "").title(), (region or "").upper())
    return "-".join(part for part in parts if part)


class CustomersAddressForm(AddressForm):
    null_clears = True


class ShippingForm(Form):
    null_clears = True

    name = Text(max_length=200, required=False)
    phone = Text(max_length=40, required=False)
    address = CustomersAddressForm(required=False)


class CreateCustomerForm(Form):
    email = Email(required=False)
    name = Text(max_length=200, required=False)
    phone = Text(max_length=40, required=False)
    description = Text(max_length=1000, required=False)
    address = CustomersAddressForm(required=False)
    shipping = ShippingForm(required=False)
    default_currency = Currency(required=False)
    preferred_locales = Locales(required=False)
    metadata = Metadata(required=False)


class UpdateCustomerForm(CreateCustomerForm):
    null_clears = True
