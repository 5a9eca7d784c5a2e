"""The bodies of /v1/customers, declared."""

import re
from typing import Any

from rest_framework import serializers

from core.rest.fields import Country, Currency, Email, Metadata, Name, Shape, Text
from core.rest.forms import Form

LOCALES_MAX = 20
LOCALE = re.compile("([A-Za-z]{2,3})(?:-([A-Za-z]{4}))?(?:-([A-Za-z]{2}|[0-9]{3}))?")


class AddressForm(Form):
    line1 = Text(max_length=500, required=False)
    line2 = Text(max_length=500, required=False)
    city = Text(max_length=200, required=False)
    state = Text(max_length=200, required=False)
    postal_code = Text(max_length=40, required=False)
    country = Country(required=False)


class Locales(serializers.Field):
    """Languages, the customer's preferred one first: `["tr-TR", "en"]`, each once."""

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
                # The stubs leave the errors of arrays out, whose keys are indexes.
                errors: Any = {index: [message]}
                raise serializers.ValidationError(errors, code="parameter_invalid")
            locales.append(locale)
        return locales


def _locale(text: Any) -> str | None:
    """Return a locale in its usual spelling, `tr-TR`; None if the text is no locale."""
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

    name = Name(max_length=200, required=False)
    phone = Text(max_length=40, required=False)
    address = CustomersAddressForm(required=False)


class CreateCustomerForm(Form):
    email = Email(required=False)
    name = Name(max_length=200, required=False)
    phone = Text(max_length=40, required=False)
    description = Text(max_length=1000, required=False)
    address = CustomersAddressForm(required=False)
    shipping = ShippingForm(required=False)
    default_currency = Currency(required=False)
    preferred_locales = Locales(required=False)
    metadata = Metadata(required=False)


class UpdateCustomerForm(CreateCustomerForm):
    null_clears = True
