"""Fields of request bodies: JSON's own types, and no value in a message.

JSON is never coerced. What is `Written` in a form or a query has no type: the field that
reads it says what it is. A field's `shape` describes in the schema what it takes, its
`codes` name its own refusals.
"""

import re
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers

from core import ip_addresses, urls
from core.countries import is_country
from core.mail import require_address
from core.money import MAX_REQUESTED_MINOR, is_supported
from core.names import ILLEGIBLE, is_legible
from core.rest.brackets import Indexed, Written
from core.rest.components import Choices, Shape, named
from core.rest.messages import listed

METADATA_KEY_MAX = 40
METADATA_VALUE_MAX = 500
METADATA_KEYS_MAX = 50
METADATA_MEANING = (
    f"Your own keys and values, up to {METADATA_KEYS_MAX}. A key has up to {METADATA_KEY_MAX} "
    "characters without `[` and `]`, a value up to "
    f"{METADATA_VALUE_MAX}. Keys that are absent stay "
    "as they are. An empty value or null deletes its key; `{}`, an empty text or null deletes all."
)
CLEAR = ""  # `metadata: ""` and `metadata: {}` become this: remove every key.
WRITTEN_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})")  # As JSON would write it.
WRITTEN_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


class Integer(serializers.Field):
    """A JSON integer: not `"1"`, `1.0`, `1e4` or `true`. In a form, its digits."""

    too_small = too_large = "parameter_invalid"
    default_error_messages = {
        "parameter_invalid": "Must be an integer in the allowed range.",
        "amount_too_small": "The amount must be at least 1.",
        "amount_too_large": "The amount is too large.",
    }

    def __init__(self, *, minimum: int, maximum: int, **options: Any) -> None:
        self.minimum, self.maximum = minimum, maximum
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, Written) and WRITTEN_INTEGER.fullmatch(data):
            data = int(data)
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("parameter_invalid")
        if data < self.minimum:
            self.fail(self.too_small)
        if data > self.maximum:
            self.fail(self.too_large)
        return data

    @property
    def advice(self) -> str:
        return f"Send {self.minimum} to {self.maximum}, without quotes or a decimal point."

    @property
    def shape(self) -> Shape:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    @property
    def codes(self) -> tuple[str, ...]:
        return self.too_small, self.too_large


class Amount(Integer):
    """Money in minor units, 1 … 999 999 999 999 (contract 1)."""

    too_small, too_large = "amount_too_small", "amount_too_large"

    def __init__(self, *, minimum: int = 1, **options: Any) -> None:
        super().__init__(minimum=minimum, maximum=MAX_REQUESTED_MINOR, **options)

    @property
    def advice(self) -> str:
        return f"Amounts are in minor units: 125.00 TRY is 12500. {super().advice}"


class Boolean(serializers.Field):
    shape: Shape = {"type": "boolean"}
    default_error_messages = {"parameter_invalid": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, Written):
            data = WRITTEN_BOOLEANS.get(data)
        if not isinstance(data, bool):
            self.fail("parameter_invalid")
        return data


class Text(serializers.Field):
    """A JSON string; `""` means the same as null."""

    default_error_messages = {
        "parameter_invalid": "Must be a string.",
        "blank": "May not be empty.",
        "too_long": "The text is too long.",
    }

    def __init__(self, *, max_length: int, **options: Any) -> None:
        self.max_length = max_length
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str | None:
        if not isinstance(data, str):
            self.fail("parameter_invalid")
        if len(data) > self.max_length:
            self.fail("too_long")
        if data.strip():
            return str(data)
        if self.required:
            self.fail("blank")
        return None

    @property
    def advice(self) -> str:
        return f"It may have up to {self.max_length} characters."

    @property
    def shape(self) -> Shape:
        given = {"minLength": 1} if self.required else {}
        return {"type": "string", **given, "maxLength": self.max_length}


class Address(Text):
    """A URL; whether it is allowed is a rule of its own, which refuses with a code of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=100_000, **options)

    @property
    def shape(self) -> Shape:
        return {**super().shape, "maxLength": urls.MAX_LENGTH, "format": "uri"}


class NetworkAddress(Text):
    """An IPv4 or IPv6 address, without a zone; in live one of the internet's."""

    default_error_messages = {
        "not_an_address": "Must be one IPv4 or IPv6 address, without a zone.",
        "not_public": "Must be a public address.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=ip_addresses.LONGEST, **options)

    def to_internal_value(self, data: Any) -> str | None:
        text = super().to_internal_value(data)
        if text is None:
            return None
        try:
            address = ip_addresses.plain(text)
        except ValueError:
            self.fail("not_an_address")
        if settings.LIVEMODE and not ip_addresses.is_public(address):
            self.fail("not_public")
        return address


class Name(Text):
    """A name that people read: one line, in one direction, with something to see in it."""

    default_error_messages = {"illegible": "Must be one line, with something to see in it."}

    def to_internal_value(self, data: Any) -> str | None:
        name = super().to_internal_value(data)
        if name is not None and not is_legible(name):
            self.fail("illegible")
        return name

    @property
    def shape(self) -> Shape:
        return {**super().shape, "pattern": f"^[^{_escaped(ILLEGIBLE)}]*$"}


def _escaped(characters: str) -> str:
    """Return a class of characters as a pattern of the schema writes it."""
    return "".join(one if one == "-" else f"\\u{ord(one):04x}" for one in characters)


class Choice(serializers.Field):
    default_error_messages = {"parameter_invalid": "Must be one of: {choices}."}

    def __init__(self, choices: Choices, **options: Any) -> None:
        self.of, self.choices = choices, choices.words
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("parameter_invalid", choices=", ".join(self.choices))
        return str(data)

    @property
    def shape(self) -> Shape:
        return self.of.closed()


class Currency(serializers.Field):
    """An ISO 4217 code in any case; lowercase from here on."""

    # The currencies that an installation takes are a setting, and no part of the schema.
    shape: Shape = {"type": "string", "pattern": "^[A-Za-z]{3}$"}
    codes = ("currency_not_supported",)
    default_error_messages = {
        "parameter_invalid": "Must be a three-letter currency code.",
        "currency_not_supported": "This installation does not take the currency.",
    }

    @property
    def advice(self) -> str:
        return f"It takes {listed(settings.CURRENCIES)}."

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("parameter_invalid")
        currency = data.lower()
        if not is_supported(currency):
            self.fail("currency_not_supported")
        return currency


class Email(Text):
    """An e-mail address, as it was written; `core.names.email_key` compares it."""

    default_error_messages = {"parameter_invalid": "Must be an e-mail address."}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=254, **options)

    def to_internal_value(self, data: Any) -> str | None:
        text = super().to_internal_value(data)
        if text is None:
            return None
        try:
            require_address(text)
        except DjangoValidationError:
            self.fail("parameter_invalid")
        return text

    @property
    def shape(self) -> Shape:
        return {**super().shape, "format": "idn-email"}


class Country(serializers.Field):
    """A country's code of ISO 3166, in any case; uppercase from here on."""

    shape: Shape = {
        "type": "string",
        "pattern": "^[A-Za-z]{2}$",
    }
    default_error_messages = {
        "parameter_invalid": "Must be a country's two letters, as ISO 3166 has them, or XK."
    }

    def to_internal_value(self, data: Any) -> str:
        # Letters of other alphabets may become capitals of ours.
        if not (isinstance(data, str) and data.isascii() and is_country(data.upper())):
            self.fail("parameter_invalid")
        return data.upper()


class Metadata(serializers.Field):
    """A map of strings; an empty value deletes its key, an empty map clears all."""

    def __init__(self, **options: Any) -> None:
        super().__init__(help_text=METADATA_MEANING, **options)

    shape: Shape = {
        "anyOf": [
            named(
                "MetadataParams",
                {
                    "type": "object",
                    "description": "Your own keys and values.",
                    "propertyNames": {
                        "minLength": 1,
                        "maxLength": METADATA_KEY_MAX,
                        "pattern": r"^[^\[\]]*$",
                    },
                    "additionalProperties": {
                        "type": ["string", "null"],
                        "maxLength": METADATA_VALUE_MAX,
                    },
                },
            ),
            {"const": CLEAR},
        ],
    }
    advice = 'Send your own names with texts as values: {"order": "6735"}.'
    default_error_messages = {
        "parameter_invalid": "Must be an object of strings.",
        "key": f"A key has 1 to {METADATA_KEY_MAX} characters, without [ and ].",
        "value": f"A value is a string of up to {METADATA_VALUE_MAX} characters.",
    }

    def to_internal_value(self, data: Any) -> dict[str, str] | str:
        if isinstance(data, Indexed):
            data = data.named
        if data in (CLEAR, {}):
            return CLEAR
        if not isinstance(data, dict):
            self.fail("parameter_invalid")
        for key, value in data.items():
            self._check(key, value)
        return {key: str(value or "") for key, value in data.items()}

    def _check(self, key: str, value: Any) -> None:
        problem = None
        if not 1 <= len(key) <= METADATA_KEY_MAX or "[" in key or "]" in key:
            problem = "key"
        elif not isinstance(value, str | None) or len(value or "") > METADATA_VALUE_MAX:
            problem = "value"
        if problem:
            message = self.error_messages[problem]
            raise serializers.ValidationError({key: [message]}, code="parameter_invalid")
