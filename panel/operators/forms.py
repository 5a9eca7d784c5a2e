"""The part that all forms of the desk have: a card number is refused, and is not shown again."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core import signing
from django.forms.utils import ErrorList
from django.http import QueryDict

from core import ids
from core.detection import contains_card_number
from core.operator_forms import REASON_MAX

CARD_TYPED = "There is a card number in it."
SIGNER = signing.Signer(salt="panel.operators.rights.invite")


class DeskForm(forms.Form):
    """A form whose fields come back as they were typed, but for those with a card number."""

    # The HTTP status of the page that shows the form once more.
    refused_status = 400

    def __init__(
        self, data: QueryDict | None = None, files: Any = None, initial: Any = None
    ) -> None:
        self._with_card: list[str] = []
        if data is not None:
            data = self._without_cards(data)
        super().__init__(data, files, initial=initial, label_suffix="")

    def _without_cards(self, data: QueryDict) -> QueryDict:
        clean = data.copy()
        for name, values in data.lists():
            if any(contains_card_number(value) for value in values):
                clean.setlist(name, [])
                self._with_card.append(name)
        return clean

    def clean(self) -> dict[str, Any]:
        for name in self._with_card:
            if name in self.fields:
                self.errors[name] = ErrorList([CARD_TYPED])
                self.cleaned_data.pop(name, None)
        return self.cleaned_data


class ReasonForm(DeskForm):
    """An act of which the reason alone is asked.

    `seen` is what the person was shown: an act on something else by now is refused.
    """

    why = forms.CharField(
        max_length=REASON_MAX,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Why, in your words",
        help_text="It is kept in the audit log.",
    )
    seen = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    field_order: Any = ("seen",)


class OwnerForm(ReasonForm):
    """A person who is made an owner, and the reason."""

    email = forms.EmailField(max_length=254, label="Their e-mail address")
    field_order = ("email", "why", "seen")


class GroupsForm(ReasonForm):
    """The groups of an operator, and the reason.

    :param names: of the groups that may be chosen.
    """

    groups = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Only groups whose rights you have yourself.",
    )
    field_order: Any = ("groups", "why", "seen")

    def __init__(
        self, names: Iterable[str], data: QueryDict | None = None, **at_first: Any
    ) -> None:
        super().__init__(data, initial=at_first)
        self.fields["groups"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]


class InviteForm(GroupsForm):
    """A person who is invited to become an operator. `act` is the invitation: a form is one."""

    email = forms.EmailField(max_length=254, label="Their e-mail address")
    act = forms.CharField(max_length=200, widget=forms.HiddenInput)
    field_order = ("email", "groups", "why", "act")

    def __init__(self, names: Iterable[str], data: QueryDict | None = None) -> None:
        super().__init__(names, data)
        self.fields["act"].initial = lambda: SIGNER.sign(ids.new("opi"))

    def clean_act(self) -> str:
        """Return the id of the invitation."""
        try:
            return SIGNER.unsign(self.cleaned_data["act"])
        except signing.BadSignature:
            raise forms.ValidationError("Open this page anew.") from None
