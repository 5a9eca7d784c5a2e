"""The part that all forms of operators' acts in the admin have."""

from django import forms

from core.detection import contains_card_number

REASON_MAX = 500


class WithReason(forms.Form):
    """An act of an operator, who says why; the words are kept, so no card number may be in them."""

    why = forms.CharField(max_length=REASON_MAX, widget=forms.Textarea, label="Why, in your words")

    def clean_why(self) -> str:
        text: str = self.cleaned_data["why"]
        if contains_card_number(text):
            raise forms.ValidationError("There is a card number in it.")
        return text
