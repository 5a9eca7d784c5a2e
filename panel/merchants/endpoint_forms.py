"""The forms of endpoints: they hand their values to the API's own forms, which know the rules."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from events import types
from panel.merchants.acts import Refusable


class EventTypes(forms.MultipleChoiceField):
    """Any values: the API's form says which of them are event types."""

    def valid_value(self, value: Any) -> bool:
        return True


class EndpointForm(Refusable):
    url = forms.CharField(
        label=_("Address"),
        help_text=_(
            "An https address on one of your websites, or below one of your callback URLs."
        ),
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        help_text=_("For your team, such as the system that listens there. May be left out."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    enabled_events = EventTypes(
        label=_("Events"),
        error_messages={"required": _("Name at least one event type, or choose all events.")},
    )

    @property
    def body(self) -> dict[str, Any]:
        """Return the values as a body of the API."""
        return {**self.cleaned_data, "description": self.cleaned_data["description"] or None}

    @property
    def chosen(self) -> list[str]:
        """Return the event types that the form shows as chosen."""
        value = self["enabled_events"].value()
        return list(value) if value else []

    @property
    def has_all(self) -> bool:
        return types.ALL in self.chosen


class RollForm(Refusable):
    expires_in = forms.TypedChoiceField(
        label=_("The old secret signs beside the new one for"),
        coerce=int,
        initial="86400",
        choices=[
            ("0", _("no time: it ends at once")),
            ("3600", _("1 hour")),
            ("86400", _("24 hours")),
            ("604800", _("7 days")),
        ],
    )


class EnableForm(Refusable):
    replay_missed = forms.BooleanField(
        label=_("Send what was missed, oldest first, before anything new"), required=False
    )


class ReplayForm(Refusable):
    since = forms.DateField(
        label=_("Only events from this day on"),
        required=False,
        help_text=_("Left empty, everything that was missed is sent."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
    )
