"""The filters of the list of events as inputs: the API's own names, and days for its instants."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from events.types import AGGREGATES
from panel.merchants import event_words
from panel.merchants.day_filters import DayFilters


class AnyChoice(forms.ChoiceField):
    """Any value: the list's engine says which of them mean something."""

    def valid_value(self, value: Any) -> bool:
        return True


class EventFilterForm(DayFilters):
    type = AnyChoice(label=_("Type"), required=False, choices=event_words.choices)
    aggregate_type = AnyChoice(
        label=_("Kind of object"),
        required=False,
        choices=lambda: [("", _("All kinds")), *((name, name) for name in AGGREGATES)],
    )
    aggregate_id = forms.CharField(label=_("Id of the object"), required=False)
    delivery_success = AnyChoice(
        label=_("Delivered"),
        required=False,
        choices=[("", _("Any")), ("true", _("Yes, or to nobody")), ("false", _("Not yet"))],
    )
    field_order = ("type", "aggregate_type", "aggregate_id", "delivery_success")
