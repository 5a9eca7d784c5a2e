"""The bodies of /v1/customers, declared."""

import re
from typing import Any

from rest_framework import serializers

from core.rest.components import Shape
from core.rest.fields import Country, Currency, Email, Metadata, Name, Text
from core.rest.forms import Form

LOCALES_MAX = 20
LOCALE = re.compile("([A-Za-z]{2,3})(?:-([A-Za-z]{4}))?(?:-([A-Za-z]{2}|[0-9]{3}))?")


PARTS = {
    "line1": "The street and the number of the house, or a post box.",
    "line2": "The floor, the flat or the building.",
    "city": "The city or town.",
    "state": "The state, province or district.",
    "postal_code": "The postal code.",
    "country": "The country's two letters (ISO 3166-1 alpha-2), or `XK`.",
}


def _part(name: str, max_length: int) -> Text:
    text = f"{PARTS[name]} Up to {max_length} characters."
    return Text(max_length=max_length, required=False, help_text=text)


class AddressForm(Form):
    schema_name = "AddressParams"

    line1 = _part("line1", 500)
    line2 = _part("line2", 500)
    city = _part("city", 200)
    state = _part("state", 200)
    postal_code = _part("postal_code", 40)
    country = Country(required=False, help_text=f"{PARTS['country']} In any case.")


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
    schema_name = "CustomerAddressParams"
    null_clears = True


class ShippingForm(Form):
    schema_name = "CustomerShippingParams"
    null_clears = True

    name = Name(
        max_length=200, required=False, help_text="The receiver's name. Up to 200 characters."
    )
    phone = Text(
        max_length=40,
        required=False,
        help_text="The receiver's telephone number. Up to 40 characters.",
    )
    address = CustomersAddressForm(required=False, help_text="The address that parcels go to.")


class CreateCustomerForm(Form):
    schema_name = "CustomerCreateParams"

    email = Email(required=False, help_text="The e-mail address. Up to 254 characters.")
    name = Name(
        max_length=200,
        required=False,
        help_text="The name of the person or company, on one line. Up to 200 characters.",
    )
    phone = Text(
        max_length=40,
        required=False,
        help_text="The telephone number. It is kept as you give it. Up to 40 characters.",
    )
    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    address = CustomersAddressForm(required=False, help_text="The customer's address.")
    shipping = ShippingForm(required=False, help_text="Where parcels go.")
    default_currency = Currency(
        required=False,
        help_text="The currency that the customer usually pays in: three letters (ISO 4217).",
    )
    preferred_locales = Locales(
        required=False,
        help_text=(
            f"The customer's languages, the most preferred first, up to {LOCALES_MAX}: `tr-TR`, "
            "`en`. Each may be named once."
        ),
    )
    metadata = Metadata(required=False)


class UpdateCustomerForm(CreateCustomerForm):
    schema_name = "CustomerUpdateParams"
    null_clears = True
