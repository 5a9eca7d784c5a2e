"""The forms by which operators make payouts, and call them off, in the admin."""

from typing import Any

from django import forms
from django.conf import settings

from core.money import MAX_REQUESTED_MINOR
from core.operator_forms import OnceForm, WithReason


class MakeForm(OnceForm):
    """A payout for a merchant."""

    merchant = forms.CharField(max_length=40, label="The merchant's id (mer_…)")
    amount = forms.IntegerField(
        min_value=1,
        max_value=MAX_REQUESTED_MINOR,
        help_text="In minor units: 12500 is 125.00.",
    )
    currency = forms.ChoiceField(choices=[(one, one.upper()) for one in settings.CURRENCIES])
    destination = forms.CharField(
        max_length=40,
        required=False,
        help_text="The reference of one of its payout accounts; empty: its default one.",
    )
    field_order = ("merchant", "amount", "currency", "destination")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, about="payouts.make", noun="po")


class CancelForm(WithReason):
    """The cancellation of a pending payout."""
