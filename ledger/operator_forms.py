"""The form by which an operator writes off what a merchant owes, in the admin."""

from typing import Any

from django import forms
from django.core import signing

from core import ids
from core.operator_forms import WithReason
from ledger.models import Account


class WriteOffForm(WithReason):
    """A write-off. A form that was shown once is one act, however often it is sent.

    :param account: the merchant's `available` of a currency. The act's id is signed for it.
    """

    amount = forms.IntegerField(min_value=1, help_text="In minor units: 12500 is 125.00.")
    act = forms.CharField(max_length=200, widget=forms.HiddenInput)
    field_order = ("amount",)

    def __init__(self, account: Account, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._signer = signing.Signer(salt=f"ledger.write_off:{account.pk}")
        self.fields["act"].initial = lambda: self._signer.sign(ids.new("act"))

    def clean_act(self) -> str:
        """Return the id of the act."""
        try:
            return self._signer.unsign(self.cleaned_data["act"])
        except signing.BadSignature:
            raise forms.ValidationError(
                "Open this page anew: the form is of another one."
            ) from None
