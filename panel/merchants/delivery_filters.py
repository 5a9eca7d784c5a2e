"""The filters of an endpoint's deliveries as inputs: the API's own names."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from panel import statuses
from panel.merchants import event_words
from panel.merchants.deliveries import BADGES, TRIGGERS
from panel.merchants.list_forms import AnyChoice, AnyChoices, ListForm, text
from webhooks.filters import DELIVERIES
from webhooks.models import Delivery

ANY: tuple[str, Any] = ("", _("Any"))
STATUSES = [
    (value, statuses.badge(BADGES.get(value, value)).word) for value in Delivery.Status.values
]


class DeliveryForm(ListForm):
    """The form above an endpoint's deliveries, which are in the order of their ids alone."""

    spec = DELIVERIES
    human = {}
    ranges = ()
    created_from = created_to = None  # type: ignore[assignment]  # As Django leaves a field out.

    event_type = AnyChoice(label=_("Type"), required=False, choices=event_words.choices)
    trigger = AnyChoice(label=_("Trigger"), required=False, choices=[ANY, *TRIGGERS.items()])
    event = text(_("Event"), placeholder="evt_…")
    vars()["status[]"] = AnyChoices(
        label=_("Status"),
        required=False,
        choices=STATUSES,
        widget=forms.CheckboxSelectMultiple,
    )
    field_order = ("event_type", "trigger", "event", "status[]")

    @property
    def is_by_status(self) -> bool:
        """Return whether attempts of a status are looked for: those that were tried again, too."""
        return any(self.shown.getlist("status[]"))
