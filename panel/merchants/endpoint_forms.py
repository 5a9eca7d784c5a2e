"""The forms of endpoints: they hand their values to the API's own forms, which know the rules."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.serializers import ValidationError

from core.detection import contains_card_number
from core.errors import DomainError
from core.rest.forms import refusal
from core.secrets_in_text import holds_secret_key
from events import types
from panel import refusals

# Refusals that a form shows at its inputs: of the API's forms, and of the rooms below.
REFUSALS = (DomainError, ValidationError)


class EventTypes(forms.MultipleChoiceField):
    """Any values: the API's form says which of them are event types."""

    def valid_value(self, value: Any) -> bool:
        return True


def as_refusal(problem: Exception) -> Exception:
    """Return a refusal of an API's form as the API would send it; others as they are."""
    return refusal(problem.detail) if isinstance(problem, ValidationError) else problem


class Refusable(forms.Form):
    """A form that the API's form, or a room below, checks again."""

    def refuse(self, problem: Exception) -> None:
        """Show a refusal at the input that it is about, else above the form."""
        told = as_refusal(problem)
        field = (getattr(told, "param", None) or "").partition("[")[0]
        self.add_error(field if field in self.fields else None, refusals.sentence(told))


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


def typed(request: HttpRequest) -> QueryDict:
    """Return the fields of a form that was sent; none, with a message, if a page may not repeat it.

    A page repeats no card number and no secret key.
    """
    for values in request.POST.lists():
        for value in map(str, values[1]):
            if contains_card_number(value) or holds_secret_key(value):
                messages.error(
                    request, gettext("There is a card number or a secret key in this form.")
                )
                return QueryDict()
    return request.POST
