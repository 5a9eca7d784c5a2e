"""The part that all forms of operators' acts in the admin have."""

from typing import Any

from django import forms
from django.core import signing

from core import ids
from core.detection import contains_card_number

REASON_MAX = 500


class WithReason(forms.Form):
    """An operator's act with its reason, which is kept: no card number may be in it."""

    why = forms.CharField(max_length=REASON_MAX, widget=forms.Textarea, label="Why, in your words")

    def clean_why(self) -> str:
        text: str = self.cleaned_data["why"]
        if contains_card_number(text):
            raise forms.ValidationError("There is a card number in it.")
        return text


class OnceForm(WithReason):
    """An act that happens once, however often its form is sent: the form carries the act's id.

    :param about: the page and what it is about; the id of another page's form is refused.
    :param noun: the id's own prefix, such as `po`.
    """

    act = forms.CharField(max_length=200, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, about: str, noun: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._signer = signing.Signer(salt=about)
        self.fields["act"].initial = lambda: self._signer.sign(ids.new(noun))

    def clean_act(self) -> str:
        """Return the id of the act."""
        try:
            return self._signer.unsign(self.cleaned_data["act"])
        except signing.BadSignature:
            raise forms.ValidationError(
                "Open this page anew: the form is of another one."
            ) from None
