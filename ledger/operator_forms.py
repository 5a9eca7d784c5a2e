"""The forms of operators' acts on the ledger, in the admin."""

from typing import Any

from django import forms

from core.operator_forms import OnceForm, WithReason
from ledger.models import Account


class WriteOffForm(OnceForm):
    """A write-off. A form that was shown once is one act, however often it is sent.

    :param account: the merchant's `available` of a currency. The act's id is signed for it.
    """

    amount = forms.IntegerField(min_value=1, help_text="In minor units: 12500 is 125.00.")
    field_order = ("amount",)

    def __init__(self, account: Account, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, about=f"ledger.write_off:{account.pk}", noun="act", **options)


class HolidayForm(WithReason):
    """A date that is a public holiday of a country from now on, or is none."""

    country = forms.RegexField(r"^[A-Z]{2}$", initial="TR", help_text="Two capital letters.")
    date = forms.DateField(
        widget=forms.DateInput(attrs={"type": "date"}), help_text="For captures from now on."
    )
    is_holiday = forms.ChoiceField(
        choices=[("yes", "a public holiday"), ("no", "no public holiday")], label="It is"
    )
    field_order = ("country", "date", "is_holiday")

    def clean_is_holiday(self) -> bool:
        """Return it as the use case takes it."""
        return bool(self.cleaned_data["is_holiday"] == "yes")
