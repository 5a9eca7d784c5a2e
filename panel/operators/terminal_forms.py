"""The forms of terminals and routes; a secret that was typed is never shown again."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

import acquirers
from acquirers import set_up
from acquirers.models import Terminal
from acquirers.routes import LAST, PRIORITY
from acquirers.set_up import Field
from core.cards import BRANDS
from merchants.models import Merchant
from panel.operators.forms import DeskForm, ReasonForm

MERCHANT = "mer_… Empty: every merchant's."
ALL = "Separated by commas. Empty: all of them."
EITHER = (("", "Any"), ("yes", "Domestic"), ("no", "Foreign"))


class KindForm(DeskForm):
    kind = forms.ChoiceField()

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data)
        kinds = [(name, name) for name in acquirers.kinds()]
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]


class OfMerchant(ReasonForm):
    """An act for one merchant, or for all."""

    merchant = forms.CharField(required=False, max_length=40, help_text=MERCHANT)

    def clean_merchant(self) -> Merchant | None:
        """Return the merchant."""
        typed = self.cleaned_data["merchant"].strip()
        found = Merchant.objects.filter(id=typed).first() if typed else None
        if typed and found is None:
            raise forms.ValidationError("There is no such merchant.")
        return found


class ValuesForm(ReasonForm):
    """The values of a terminal, by the fields that its kind declares."""

    currencies = forms.CharField(required=False, max_length=200, help_text=ALL)
    brands = forms.CharField(required=False, max_length=200, help_text=ALL)

    def __init__(
        self,
        declared: Iterable[Field],
        data: QueryDict | None = None,
        *,
        terminal: Terminal | None = None,
    ) -> None:
        known = terminal.shown_values if terminal else {}
        limits = {name: ", ".join(getattr(terminal, name, [])) for name in ("currencies", "brands")}
        super().__init__(data, initial={**limits, **{_of(name): known[name] for name in known}})
        self._declared = tuple(declared)
        for field in self._declared:
            self.fields[_of(field.name)] = _typed(field)
        values = map(_of_field, self._declared)
        self.order_fields(["name", *values, "merchant", "currencies", "brands", "why"])

    def values(self) -> dict[str, str]:
        """Return the values that were typed; what is empty was left out."""
        typed = {one.name: self.cleaned_data[_of(one.name)] for one in self._declared}
        return {name: value for name, value in typed.items() if value}

    def limits(self) -> dict[str, list[str]]:
        """Return `currencies` and `brands`."""
        return {name: _parts(self.cleaned_data[name]) for name in ("currencies", "brands")}


class NewTerminalForm(ValuesForm, OfMerchant):
    name = forms.CharField(max_length=40, help_text="Small letters, digits, - and _.")


class RouteForm(OfMerchant):
    """A route: what is left empty fits every payment."""

    terminal = forms.ModelChoiceField(Terminal.objects.none())
    currency = forms.ChoiceField(required=False)
    brand = forms.ChoiceField(required=False)
    domestic = forms.ChoiceField(required=False, choices=EITHER, label="Cards")
    program = forms.CharField(
        required=False, max_length=20, help_text="Of installments, such as bonus."
    )
    installments_from = forms.IntegerField(min_value=1, max_value=99, initial=1)
    installments_to = forms.IntegerField(required=False, min_value=1, max_value=99)
    priority = forms.IntegerField(
        min_value=0, max_value=LAST, initial=PRIORITY, help_text="The lowest number comes first."
    )
    field_order = (
        "terminal", "merchant", "currency", "brand", "domestic", "program", "installments_from",
        "installments_to", "priority", "why", "seen",
    )  # fmt: skip

    def __init__(self, data: QueryDict | None = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        open_ones = Terminal.objects.filter(status=Terminal.Status.ENABLED).order_by("name")
        fields: Any = self.fields
        fields["terminal"].queryset = open_ones
        fields["currency"].choices = _any_of(set_up.currencies())
        fields["brand"].choices = _any_of(BRANDS)

    def conditions(self) -> dict[str, Any]:
        """Return the route's conditions, as `routes.add` takes them."""
        typed = self.cleaned_data
        return {
            **{name: typed[name] or None for name in ("currency", "brand", "program")},
            "domestic": {"yes": True, "no": False}.get(typed["domestic"]),
            "installments_from": typed["installments_from"],
            "installments_to": typed["installments_to"],
        }


def _typed(field: Field) -> forms.CharField:
    said = f"Default: {field.default}." if field.default and not field.is_secret else ""
    secret = forms.PasswordInput(attrs={"autocomplete": "off"})  # It is never shown again.
    return forms.CharField(
        required=field.is_required and field.default is None,
        max_length=500,
        strip=False,
        label=field.name,
        help_text="A secret." if field.is_secret else said,
        widget=secret if field.is_secret else forms.TextInput,
    )


def _of(name: str) -> str:
    """Return the name of a value's field: a kind may call one `why`."""
    return f"value_{name}"


def _of_field(field: Field) -> str:
    return _of(field.name)


def _parts(text: str) -> list[str]:
    return [part for part in (one.strip() for one in text.split(",")) if part]


def _any_of(names: Iterable[str]) -> list[tuple[str, str]]:
    return [("", "Any"), *((name, name) for name in sorted(names))]
