"""The card in a body, lifted out by the parser and checked before an attempt exists."""

from typing import Any

from rest_framework import serializers

from core import clock
from core.cards import CardData, brand_of, is_expired, luhn_valid
from core.rest.fields import Integer, Name, Text
from core.rest.forms import Form, form_of
from core.rest.parsers import CardInput

CENTURY = (2000, 2099)


class ExpiryMonth(Integer):
    too_small = too_large = "invalid_expiry_month"
    default_error_messages = {"invalid_expiry_month": "Must be a month, 1 to 12."}


class ExpiryYear(Integer):
    too_small = too_large = "invalid_expiry_year"
    default_error_messages = {"invalid_expiry_year": "Must be a year of four digits."}


class CardForm(Form):
    schema_name = "CardParams"
    codes = ("incorrect_number", "invalid_cvc", "expired_card")

    number = Text(
        max_length=40,
        help_text="The card's number: 12 to 19 digits. Spaces and hyphens are ignored.",
    )
    exp_month = ExpiryMonth(minimum=1, maximum=12, help_text="The month of expiry, 1 to 12.")
    exp_year = ExpiryYear(
        minimum=CENTURY[0], maximum=CENTURY[1], help_text="The year of expiry, in four digits."
    )
    cvc = Text(
        max_length=20, help_text="The security code: three digits, four for American Express."
    )
    holder_name = Name(
        max_length=200,
        required=False,
        help_text=("The name on the card, up to 200 characters. Absent: `billing_details[name]`."),
    )

    def validate_number(self, number: str) -> str:
        digits = number.replace(" ", "").replace("-", "")
        if not 12 <= len(digits) <= 19 or not luhn_valid(digits):
            raise serializers.ValidationError(
                "The card number is not right: its check digit or length is wrong.",
                code="incorrect_number",
            )
        return digits

    def validate(self, card: dict[str, Any]) -> dict[str, Any]:
        """Refuse a card that is visibly wrong, before an attempt exists and the bank is asked.

        That is a CVC of the wrong length for the brand, or an expiry whose month is over everywhere
        on earth. Whether a card is still good on its last day, the bank decides.
        """
        length = cvc_length(card["number"])
        if not is_cvc(card["cvc"], length):
            message = f"The security code must have {length} digits."
            raise serializers.ValidationError({"cvc": [message]}, code="invalid_cvc")
        if is_expired(card["exp_year"], card["exp_month"], now=clock.now()):
            message = "The card has expired."
            raise serializers.ValidationError({"exp_year": [message]}, code="expired_card")
        return card


def cvc_length(number: str) -> int:
    """Return how many digits the security code of a card has."""
    return 4 if brand_of(number) == "amex" else 3


def is_cvc(cvc: str, length: int) -> bool:
    """Return whether a text is a security code of that many digits."""
    return cvc.isascii() and cvc.isdigit() and len(cvc) == length


def cvc_of(body: dict[str, Any]) -> str | None:
    """Return the CVC of a retry's body; None if it has none of the right form.

    The rest of the card was validated by the first request, and a retry's body must equal its
    body. Only the CVC is left out of that comparison, so its form is checked here.
    """
    method = body.get("payment_method_data")
    card = method.get("card") if isinstance(method, dict) else None
    if not isinstance(card, CardInput):
        return None
    cvc, length = card.fields.get("cvc"), cvc_length(str(card.fields.get("number")))
    return cvc if isinstance(cvc, str) and is_cvc(cvc, length) else None


class CardField(serializers.Field):
    """The card, lifted out of the body by the parser; becomes a redacting CardData."""

    form = CardForm
    default_error_messages = {"parameter_invalid": "Must be an object."}

    def to_internal_value(self, data: Any) -> CardData:
        if not isinstance(data, CardInput):
            self.fail("parameter_invalid")
        return CardData(**form_of(CardForm).validated(data.fields))
