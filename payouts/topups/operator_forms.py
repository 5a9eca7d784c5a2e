"""The forms by which operators make topups, and decide about transfers, in the admin."""

from typing import Any

from django import forms
from django.conf import settings

from core.money import MAX_REQUESTED_MINOR
from core.operator_forms import OnceForm, WithReason


class MakeForm(OnceForm):
    """A topup for a merchant."""

    merchant = forms.CharField(max_length=40, label="The merchant's id (mer_…)")
    amount = forms.IntegerField(
        min_value=1,
        max_value=MAX_REQUESTED_MINOR,
        help_text="In minor units: 12500 is 125.00.",
    )
    currency = forms.ChoiceField(choices=[(one, one.upper()) for one in settings.CURRENCIES])
    field_order = ("merchant", "amount", "currency")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, about="topups.make", noun="tu")


class CancelForm(WithReason):
    """The cancellation of a pending topup."""


class AssignForm(WithReason):
    """The one whose transfer it is."""

    goes_to = forms.CharField(
        max_length=40,
        label="The id of a topup (tu_…) or of a merchant (mer_…)",
        help_text="A topup that waits for this amount; a merchant gets a new topup of it.",
    )
    field_order = ("goes_to",)


class SendBackForm(WithReason):
    """A transfer that went back to its sender: the reason says how."""
