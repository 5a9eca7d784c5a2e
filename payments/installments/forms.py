"""The query of a quote, declared."""

import re
from typing import Any

from rest_framework import serializers

from core.rest.fields import Amount, Currency, Shape
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
    bin = BinField(help_text="The first 6 to 8 digits of the card's number.")
    amount = Amount(help_text="What you will ask for, in minor units.")
    currency = Currency(help_text="What you will ask for it in.")
