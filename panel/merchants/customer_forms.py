"""The forms of customers: they hand their values to the API's own forms, which know the rules."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from panel.merchants.acts import Refusable
from panel.merchants.list_forms import ListForm
from payments.customers.models import Customer
from payments.customers.render import ADDRESS_FIELDS
from payments.customers.resource import CUSTOMERS

PLAIN = ("email", "name", "phone", "description", "default_currency")
PLACES: dict[str, Any] = {
    "line1": _("Street and number"),
    "line2": _("Second line"),
    "city": _("City"),
    "state": _("State or province"),
    "postal_code": _("Postal code"),
    "country": _("Country (two letters)"),
}
# Of a form's field the beginning, and where its values lie in the body.
ADDRESS, SHIPPED_TO = "address_", "shipping_address_"


def _text(label: Any, **options: Any) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(label=label, required=False, widget=widget, **options)


class CustomerListForm(ListForm):
    spec = CUSTOMERS
    email = _text(_("E-mail address"), help_text=_("The whole address, in any case."))
    field_order = ("email",)


class CustomerForm(Refusable):
    """Every value of a customer as an input; one that is left empty is cleared."""

    email = _text(_("E-mail address"))
    name = _text(_("Name"))
    phone = _text(_("Phone"))
    description = _text(_("Description"), help_text=_("For your team alone."))
    default_currency = forms.ChoiceField(
        label=_("Currency"),
        required=False,
        choices=lambda: [("", "–"), *((code, code.upper()) for code in settings.CURRENCIES)],
    )
    preferred_locales = _text(
        _("Languages"), help_text=_("The preferred one first, such as: tr-TR, en.")
    )
    shipping_name = _text(_("Name"))
    shipping_phone = _text(_("Phone"))
    metadata = forms.CharField(
        label=_("Metadata"),
        required=False,
        strip=False,
        help_text=_("One key and its value per line: order = 1001."),
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off"}),
    )

    def __init__(self, typed: QueryDict | None, *, customer: Customer | None = None) -> None:
        """:param customer: as it is; None for one that is new."""
        self._stored = dict(customer.metadata) if customer else {}
        self._kept = {name: getattr(customer, name, None) for name in PLAIN}
        super().__init__(typed, initial=_values(customer) if customer else None)
        for begin in (ADDRESS, SHIPPED_TO):
            for name, label in PLACES.items():
                self.fields[f"{begin}{name}"] = _text(label)

    @property
    def about(self) -> list[forms.BoundField]:
        return [self[name] for name in (*PLAIN, "preferred_locales")]

    @property
    def address(self) -> list[forms.BoundField]:
        return [self[f"{ADDRESS}{name}"] for name in PLACES]

    @property
    def shipping(self) -> list[forms.BoundField]:
        names = ("shipping_name", "shipping_phone", *(f"{SHIPPED_TO}{name}" for name in PLACES))
        return [self[name] for name in names]

    def clean_metadata(self) -> dict[str, str | None]:
        """Return keys and values; None for keys that were there and are not any more."""
        found: dict[str, str | None] = {}
        for line in self.cleaned_data["metadata"].splitlines():
            key, sign, value = (part.strip() for part in line.partition("="))
            if not (key or value):
                continue
            if not sign or not key or not value or key in found:
                raise forms.ValidationError(_("Write each key once, as key = value."))
            found[key] = value
        return dict.fromkeys(self._stored) | found

    @property
    def body(self) -> dict[str, Any]:
        """Return the values as a body of the API: null for what was left empty.

        Plain ones that are as they were are left out: one that was stored under an earlier rule
        stays, and refuses no change of the others.
        """
        typed = {name: value or None for name, value in self.cleaned_data.items()}
        locales = (self.cleaned_data["preferred_locales"] or "").split(",")
        shipping = {name: typed[f"shipping_{name}"] for name in ("name", "phone")}
        address = _place(typed, SHIPPED_TO)
        given = {**shipping, "address": address}
        return {
            **{name: typed[name] for name in PLAIN if typed[name] != self._kept[name]},
            "preferred_locales": [one.strip() for one in locales if one.strip()],
            "address": _place(typed, ADDRESS),
            "shipping": given if any(given.values()) else None,
            "metadata": self.cleaned_data["metadata"] or None,
        }

    def input_of(self, param: str) -> str:
        """Return the input of a parameter: `shipping[address][city]` has one of its own."""
        whole = param.replace("]", "").replace("[", "_")
        whole = {"shipping_address": f"{SHIPPED_TO}line1"}.get(whole, whole)
        return whole if whole in self.fields else super().input_of(param)


def _place(typed: dict[str, Any], begin: str) -> dict[str, Any] | None:
    place = {name: typed[f"{begin}{name}"] for name in ADDRESS_FIELDS}
    return place if any(place.values()) else None


def _values(customer: Customer) -> dict[str, Any]:
    shipping = customer.shipping or {}
    return {
        **{name: getattr(customer, name) for name in PLAIN},
        "preferred_locales": ", ".join(customer.preferred_locales),
        "shipping_name": shipping.get("name"),
        "shipping_phone": shipping.get("phone"),
        "metadata": "\n".join(f"{key} = {value}" for key, value in customer.metadata.items()),
        **_prefixed(ADDRESS, customer.address),
        **_prefixed(SHIPPED_TO, shipping.get("address")),
    }


def _prefixed(begin: str, place: dict[str, Any] | None) -> dict[str, Any]:
    return {f"{begin}{name}": value for name, value in (place or {}).items()}
