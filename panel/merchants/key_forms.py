"""Forms about keys: the values that `merchants.keys` takes, as people choose them."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import local_days
from core.detection import contains_card_number
from core.rest import resources
from core.secrets_in_text import holds_secret_key
from merchants import keys
from panel.merchants import key_words
from panel.merchants.acts import Refusable

# Links that fill the form in, and the level that each gives to all resources.
PRESETS: dict[str, tuple[str | Promise, str]] = {
    "everything": (_("Everything"), "write"),
    "read_only": (_("Read only"), "read"),
}
ROLLS: dict[int, str | Promise] = {
    0: _("At once"),
    3600: _("In an hour"),
    keys.DAY_SECONDS: _("In a day"),
    7 * keys.DAY_SECONDS: _("In a week"),
}


def _harmless(value: str) -> str:
    return "" if contains_card_number(value) or holds_secret_key(value) else value


class _Expiring(Refusable):
    """A form with the day that a new key ends on.

    :param zone: of the merchant, in which the day ends.
    """

    expires = forms.DateField(
        label=_("Expires on"),
        required=False,
        input_formats=["%Y-%m-%d"],
        help_text=_("The key works until the end of this day, within two years. Leave it empty for"
                    " a key that does not expire."),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )  # fmt: skip

    def __init__(self, *arguments: Any, zone: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._zone = zone

    def clean_expires(self) -> datetime | None:
        """Return the day's last instant."""
        day: date | None = self.cleaned_data["expires"]
        return local_days.ends(day, self._zone) if day else None

    def forget_secrets(self) -> None:
        """Let the page repeat no card number and no key that was typed."""
        if self.is_bound:
            self.data = {name: _harmless(value) for name, value in self.data.items()}

    def input_of(self, param: str) -> str:
        return "expires" if param == "expires_at" else super().input_of(param)


class CreateKey(_Expiring):
    """Name, expiry, and a field `scope_<resource>` for each resource."""

    name = forms.CharField(
        label=_("Name"),
        max_length=keys.NAME_MAX,
        help_text=_("Where you use it, such as: shop server."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("name", "expires")

    def __init__(self, *arguments: Any, preset: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        _words, level = PRESETS.get(preset, PRESETS["everything"])
        for name in resources.scopes():
            self.fields[f"scope_{name}"] = forms.ChoiceField(
                label=key_words.resource(name),
                choices=list(key_words.LEVELS.items()),
                initial=level,
                required=False,
                widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
            )

    def scope_fields(self) -> Iterable[forms.BoundField]:
        return [self[f"scope_{name}"] for name in resources.scopes()]

    def scopes(self) -> dict[str, str]:
        """Return the scopes as `keys.create` takes them; nothing for a key that may do all."""
        default = key_words.DEFAULT
        chosen = {
            name: self.cleaned_data[f"scope_{name}"] or default for name in resources.scopes()
        }
        return {} if {*chosen.values()} == {default} else chosen


class RollKey(_Expiring):
    """The end of the old key, and that of the new one."""

    expires_in = forms.TypedChoiceField(
        label=_("The old key ends"),
        choices=list(ROLLS.items()),
        initial=keys.DAY_SECONDS,
        coerce=int,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    field_order = ("expires_in", "expires")
