"""Filters of lists as inputs: the API's own names, days for instants, written amounts for sums."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import clock, local_days, money
from core.rest.list_query import CURSORS
from core.rest.lists import ListSpec
from panel import statuses
from panel.merchants import listing
from panel.merchants.acts import Refusable

# The bounds that the two days become: both days are whole.
BOUNDS = {"created_from": "created[gte]", "created_to": "created[lt]"}
AMOUNTS = {"amount_from": "amount[gte]", "amount_to": "amount[lte]"}
# Calendars of people end there.
FIRST, LAST = date(2000, 1, 1), date(2999, 12, 31)


class AnyChoice(forms.ChoiceField):
    """Any value: the list's engine says which of them mean something."""

    def valid_value(self, value: Any) -> bool:
        return True


class AnyChoices(forms.MultipleChoiceField):
    """Any values, likewise."""

    def valid_value(self, value: Any) -> bool:
        return True


def text(label: Any, **attributes: str) -> forms.CharField:
    """Return an input for one line that is compared as it stands."""
    plain = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    widget = forms.TextInput(attrs={**plain, **attributes})
    return forms.CharField(label=label, required=False, widget=widget)


def day(label: Any) -> forms.DateField:
    """Return an input for a day."""
    return forms.DateField(
        label=label,
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": NO_DAY},
    )


def several_statuses(values: Iterable[str]) -> AnyChoices:
    """Return the choice of statuses, several at once, as their badges say them."""
    choices = [(value, statuses.badge(value).word) for value in values]
    widget = forms.CheckboxSelectMultiple
    return AnyChoices(label=_("Status"), required=False, choices=choices, widget=widget)


def order(**more: Any) -> AnyChoice:
    """Return the choice of an order, by the list's sort keys; newest first if none is chosen."""
    amounts = [("-amount", _("Largest first")), ("amount", _("Smallest first"))]
    choices = [NEWEST_FIRST, ("created", _("Oldest first")), *amounts, *more.items()]
    return AnyChoice(label=_("Order"), required=False, choices=choices)


def _no_amount(currency: str) -> str:
    example = money.typed(125000, currency)
    return gettext("Give an amount such as %(example)s.") % {"example": example}


ANY: tuple[str, Any] = ("", _("Any"))
NEWEST_FIRST: tuple[str, Any] = ("", _("Newest first"))
CHOOSE: Any = _("Choose one of the list.")
NO_DAY: Any = _("Give a day, such as 2026-11-23.")
NOT_SHOWN: Any = _("This address asks for something that the list cannot show.")
TOO_LONG: Any = _("This took too long. Narrow the time, and try again.")
no_amount: Callable[[str], Any] = lazy(_no_amount, str)


class ListForm(Refusable):
    """The form above a list; the list's engine reads the address, and refuses."""

    use_required_attribute = False
    # Of the list, whose parameters the address keeps.
    spec: ListSpec
    # By an input of people the parameter of the API that it becomes.
    human: dict[str, str] = BOUNDS
    # Two days each, between which something lies.
    ranges: tuple[tuple[str, str], ...] = (("created_from", "created_to"),)
    # Two inputs of people that become one parameter.
    pair: tuple[str, ...] = ()
    # Inputs that are folded away until one is used.
    folded: tuple[str, ...] = ()
    # Inputs that always stand above the list; all others are folded away. Without them the whole
    # form is.
    bar: tuple[str, ...] = ()
    # By an input, the words about a value that the list does not take.
    refused: Mapping[str, Any] = {
        "q": _("Search for a shorter text: 255 characters at most."),
    }
    # The words about a parameter without an input, and about a search that took too long.
    unplaced, too_long = NOT_SHOWN, TOO_LONG

    created_from = day(_("From"))
    created_to = day(_("To"))

    def __init__(self, query: QueryDict, *, zone: str, currency: str = "") -> None:
        """:param zone: of the merchant, in which days begin.
        :param currency: of the merchant, for amounts where no currency is chosen.
        """
        self.zone = zone
        self.unit = (query.get("currency") or currency).lower()
        self.shown = self._shown(query)
        super().__init__(self.shown)
        if "currency" in self.fields:
            known = [(code, code.upper()) for code in settings.CURRENCIES]
            self.fields["currency"].choices = [ANY, *known]  # type: ignore[attr-defined]

    @property
    def asked(self) -> QueryDict:
        """Return the list's own part of the address."""
        return listing.asked(self.given, self.spec)

    def in_the_apis_terms(self) -> str | None:
        """Return the address in the API's own terms; None if it is so already."""
        of_people = (*self.human, *self.pair)
        if not any(name in self.given for name in of_people):
            return None
        asked = self.given.copy()
        for name in (*of_people, *self.human.values(), *CURSORS):
            asked.pop(name, None)
        for parameter, value in self._translated():
            asked[parameter] = value
        # Inputs that were left empty would only lengthen the address.
        for name in [name for name in asked if not any(asked.getlist(name))]:
            asked.pop(name)
        return asked.urlencode()

    def refuse(self, problem: Exception) -> None:
        """Show a refusal at the input that it is about: an instant's at its day."""
        name = self.input_of(getattr(problem, "param", None) or "")
        if name in self.refused and name in self.fields:
            self.add_error(name, self.refused[name])
        elif self._is_day(name):
            self.add_error(name, NO_DAY)
        elif name in AMOUNTS:
            self.add_error(name, no_amount(self.unit))
        elif isinstance(self.fields.get(name), AnyChoice | AnyChoices):
            self.add_error(name, CHOOSE)
        elif name in self.fields:
            super().refuse(problem)
        else:
            self.add_error(None, self.unplaced)

    def refuse_as_too_long(self) -> None:
        """Say at the days, if there are some, that the database was not done in time."""
        self.add_error("created_from" if "created_from" in self.fields else None, self.too_long)

    def input_of(self, param: str) -> str:
        """Return the input of a parameter: one of people, one that may repeat, or its own."""
        inputs = {parameter: name for name, parameter in self.human.items()}
        name = inputs.get(param) or super().input_of(param)
        return f"{name}[]" if f"{name}[]" in self.fields else name

    @property
    def common(self) -> list[forms.BoundField]:
        """Return the inputs that are not folded away."""
        return [self[name] for name in self.fields if name not in self._folded]

    @property
    def rare(self) -> list[forms.BoundField]:
        return [self[name] for name in self._folded]

    @property
    def has_rare_ones(self) -> bool:
        """Tell whether one of the filters that are folded away is used or refused.

        Above a list with a bar the tabs say the status, and its heads the order.
        """
        seen = self._folded if not self.bar else [*{*self._folded} - {"status[]", "sort"}]
        return any(self.data.get(name) or name in self.errors for name in seen)

    @property
    def _folded(self) -> Iterable[str]:
        return [name for name in self.fields if name not in self.bar] if self.bar else self.folded

    @property
    def kept(self) -> list[tuple[str, str]]:
        """Return the parameters of the address that no input shows: the form sends them again."""
        shown = {*self.fields, *self.human.values(), *CURSORS, "limit", "include", "expand"}
        return [
            (name, value)
            for name, values in self.given.lists()
            for value in values
            if value and name not in shown and self._is_the_lists(name) and self._is_apart(name)
        ]

    @property
    def unseen(self) -> list[tuple[str, str]]:
        """Return parameters that a tab above the form has chosen; the form sends them again."""
        return []

    @property
    def is_narrowed(self) -> bool:
        """Return whether an input is filled in."""
        inputs = [self.shown.getlist(name) for name in self.fields if name != "sort"]
        return bool(self.kept) or any(any(values) for values in inputs)

    def _is_the_lists(self, name: str) -> bool:
        return name.partition("[")[0] in self.spec.names

    def _is_apart(self, name: str) -> bool:
        """Return whether no input that may repeat shows the parameter under another writing."""
        return f"{name.partition('[')[0]}[]" not in self.fields

    def _is_day(self, name: str) -> bool:
        return any(name in names for names in self.ranges)

    def _translated(self) -> Iterable[tuple[str, str]]:
        """Return the values of the inputs of people, as the API takes them."""
        for name, bound in self.human.items():
            value = self.cleaned_data.get(name)
            if value not in (None, ""):
                yield bound, self._written(name, value)

    def _written(self, name: str, value: Any) -> str:
        if self._is_day(name):
            return str(self._instant(value, is_end=name.endswith("_to")))
        return str(value)

    def _shown(self, query: QueryDict) -> QueryDict:
        self.given = query
        shown = query.copy()
        for field in [name for name in self.base_fields if name.endswith("[]")]:
            whole = field.removesuffix("[]")
            names = [name for name in query if name.partition("[")[0] == whole]
            shown.setlist(field, [value for name in names for value in query.getlist(name)])
        for name, bound in self.human.items():
            if name not in query and (value := query.get(bound)):
                shown[name] = self._for_people(name, value)
        return shown

    def _for_people(self, name: str, value: str) -> str:
        is_number = value.isascii() and value.isdecimal() and len(value) <= 15
        if name in AMOUNTS:
            return money.typed(int(value), self.unit) if is_number else value
        return self._day(value, bound=self.human[name]) if is_number else ""

    def _instant(self, given: date, *, is_end: bool) -> int:
        begins = given + timedelta(days=1) if is_end and given < date.max else given
        return clock.unix(local_days.begins(begins, self.zone))

    def _day(self, written: str, *, bound: str) -> str:
        """Return the day that an instant of the address stands for; nothing if it is none."""
        try:
            moment = datetime.fromtimestamp(int(written), UTC)
            if bound.endswith("[lt]"):
                moment -= timedelta(seconds=1)
            return local_days.of(moment, self.zone).isoformat()
        except (OverflowError, ValueError, OSError):
            return ""

    def clean(self) -> dict[str, Any]:
        for names in self.ranges:
            for name in names:
                found = self.cleaned_data.get(name)
                # An instant of the address may lie anywhere.
                if found and name in self.given and not FIRST <= found <= LAST:
                    self.add_error(name, NO_DAY)
            begin, end = (self.cleaned_data.get(name) for name in names)
            if begin and end and end < begin:
                self.add_error(names[1], _("This day is before the first one."))
        return self.cleaned_data


class SumForm(ListForm):
    """A form with two amounts, in the notation of the page's language."""

    human = {**BOUNDS, **AMOUNTS}

    amount_from = text(_("Amount from"), inputmode="decimal")
    amount_to = text(_("Amount to"), inputmode="decimal")

    def clean_amount_from(self) -> int | None:
        return self._amount("amount_from")

    def clean_amount_to(self) -> int | None:
        return self._amount("amount_to")

    def _amount(self, name: str) -> int | None:
        written = self.cleaned_data[name]
        if not written:
            return None
        try:
            return money.read(written, self.unit)
        except ValueError:
            raise forms.ValidationError(no_amount(self.unit)) from None
