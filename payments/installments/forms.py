"""The query of a quote, declared."""

import re
from typing import Any

from rest_framework import serializers

from core.rest.components import Shape
from core.rest.fields import Amount, Currency
from core.rest.forms import Form

BIN = re.compile(r"[0-9]{6,8}")


class BinField(serializers.Field):
    shape: Shape = {"type": "string", "pattern": "^[0-9]{6,8}$"}
    default_error_messages = {"parameter_invalid": "Must be the first 6 to 8 digits of a card."}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or not BIN.fullmatch(data):
            self.fail("parameter_invalid")
        return str(data)


class QuoteForm(Form):
    schema_name = "InstallmentQuoteParams"

    bin = BinField(
        help_text="The first 6 to 8 digits of the card's number. Never send more of it in a query."
    )
    amount = Amount(help_text="The amount that you will ask for, in minor units.")
    currency = Currency(
        help_text="The currency of the amount: three letters (ISO 4217), in any case."
    )
