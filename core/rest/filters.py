"""Filters of lists: django-filter's, strict (spec: List conventions 6; ADR 0043).

A filter set lists its filters in `Meta.fields` and declares what the model's field does not say.
A filter has the name of its parameter: `currency`, `status[]`, `amount[gte]`.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.db import models
from django.db.models import QuerySet
from django.forms.utils import ErrorDict
from django.http import QueryDict
from django_filters import CharFilter, ChoiceFilter, Filter, FilterSet

from core.money import MAX_REQUESTED_MINOR, is_currency
from core.querysets import MerchantRows
from core.rest.bounds import Bound, as_bounds, column
from core.rest.components import Choices, Shape
from core.rest.parts import Parts
from core.rest.query import Given, array, given

Rows = QuerySet[Any]
# A range is read by these lookups, each of which is a word in the parameter's brackets.
SEVERAL = "[]"
EXACT = ["exact"]
RANGE = ["exact", "gt", "gte", "lt", "lte"]
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,11}", re.ASCII)
MEANINGS = {"true": True, "false": False}
LAST_SECOND = 99_999_999_999  # In the year 5138: what a calendar can still hold.


# --- Fields: what a parameter may hold --------------------------------------------------------


class Text(forms.Field):
    """Text of a given form.

    :param refused_by: the sentence of the refusal, for a text of another form.
    """

    def __init__(
        self,
        *,
        form: str = ".{1,500}",
        refused_by: str = "Must have 1 to 500 characters.",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.form, self.refused_by = re.compile(form, re.ASCII | re.DOTALL), refused_by

    @property
    def shape(self) -> Shape:
        return {"type": "string", "pattern": f"^{self.form.pattern}$"}

    def clean(self, value: str) -> Any:
        if not self.form.fullmatch(value):
            raise forms.ValidationError(self.refused_by)
        return value


class Currency(forms.Field):
    """`try`, in any case; a currency that the installation does not take finds nothing."""

    shape: Shape = {"type": "string", "pattern": "^[A-Za-z]{3}$"}

    def clean(self, value: str) -> str:
        # Letters of other alphabets may become small ones of ours.
        if not value.isascii() or not is_currency(value.lower()):
            message = "Must be a currency's three letters, as ISO 4217 has them."
            raise forms.ValidationError(message)
        return value.lower()


class Amount(forms.Field):
    """A whole number; money in minor units."""

    most = MAX_REQUESTED_MINOR
    refused_by = f"Must be a whole number from 0 to {most}, in minor units: 125.00 TRY is 12500."

    @property
    def shape(self) -> Shape:
        return {"type": "integer", "minimum": 0, "maximum": self.most}

    def clean(self, value: str) -> Any:
        if not WHOLE_NUMBER.fullmatch(value) or int(value) > self.most:
            raise forms.ValidationError(self.refused_by)
        return int(value)


class Instant(Amount):
    """Unix seconds. The API shows whole ones, so that `created=n` is all of second n."""

    most = LAST_SECOND
    refused_by = "Must be unix seconds, such as 1767225600: no date, no milliseconds, no fraction."

    def __init__(self, *, lookup: str, **options: Any) -> None:
        super().__init__(**options)
        self.lookup = lookup

    def clean(self, value: str) -> Any:
        first, last = self.ends(super().clean(value))
        return {"exact": (first, last), "gt": last, "lte": last}.get(self.lookup, first)

    def ends(self, second: int) -> tuple[Any, Any]:
        """Return the first and the last value of the column within a second."""
        begins = datetime.fromtimestamp(second, UTC)
        return begins, begins + timedelta(microseconds=999_999)


class TrueOrFalse(forms.Field):
    """`true` or `false`, as JSON has them."""

    shape: Shape = {"type": "boolean"}

    def clean(self, value: str) -> bool:
        if value not in MEANINGS:
            raise forms.ValidationError("Must be true or false.")
        return MEANINGS[value]


class ObjectId(Text):
    """Any text: it is looked for, and an empty one is not found either."""

    def __init__(self, **options: Any) -> None:
        super().__init__(form=".*", **options)

    def clean(self, value: str) -> str:
        return value or "-"


class AsGiven(forms.Field):
    """A field that reads its parameters as they were given, and refuses them itself."""


# --- Filters ----------------------------------------------------------------------------------


class TextFilter(CharFilter):
    field_class = Text


class ObjectIdFilter(CharFilter):
    field_class = ObjectId


class CurrencyFilter(CharFilter):
    field_class = Currency


class TrueOrFalseFilter(Filter):
    field_class = TrueOrFalse


class AmountFilter(Filter):
    field_class = Amount


class InstantFilter(Filter):
    field_class: type[forms.Field] = Instant

    def __init__(self, field_name: str | None = None, lookup_expr: str = "exact", **options: Any):
        lookup = "range" if lookup_expr == "exact" else lookup_expr
        super().__init__(field_name, lookup, lookup=lookup_expr, **options)


class AnyOfFilter(Filter):
    """`x[]=v&x[]=w`: any of the values."""

    field_class = forms.MultipleChoiceField


def shape(one: Filter, choices: Choices | None = None) -> Shape:
    """Return the parameter of a filter, as the schema shows it.

    :param choices: the values that it takes, where they have a name.
    """
    field = deepcopy(one).field  # A filter keeps its field, and each query would copy it.
    if not isinstance(field, forms.ChoiceField):
        return field.shape
    words = choices.closed() if choices else {"type": "string", "enum": words_of(field)}
    is_several = isinstance(field, forms.MultipleChoiceField)
    return {"type": "array", "items": words} if is_several else words


def of_the_merchant(related: MerchantRows, param: str) -> Callable[[Any, str, str], Rows]:
    """Return a filter's method that finds rows by the id of another of the merchant's objects."""

    def narrowed(rows: Any, name: str, wanted: str) -> Rows:
        """:raises ResourceMissing: the merchant of the rows has no such object."""
        found = related.for_merchant(rows.merchant).find(wanted, param=param)
        return rows.filter(**{name: found.pk})

    return narrowed


# --- Filter sets ------------------------------------------------------------------------------


class StrictForm(forms.Form):
    """A filter set's form: refuses the first parameter that is not right, by its written name.

    It has the parameters of each filter as they were given, and no inputs.
    """

    def full_clean(self) -> None:
        """:raises ParameterInvalid: what is given means nothing."""
        self._errors = ErrorDict()
        self.cleaned_data = {}
        for name, field in self.fields.items():
            written: list[Given] = self.data[name]
            try:
                self.cleaned_data[name] = field.clean(_value(written, name, field))
            except forms.ValidationError as problem:
                advice = getattr(field, "advice", "")
                raise written[0].refusal(str(problem.message), advice) from None


def _value(written: list[Given], name: str, field: forms.Field) -> Any:
    """Return what a field reads: one value, several, or the parameters as they were given."""
    if isinstance(field, AsGiven):
        return written
    if isinstance(field, forms.ChoiceField):
        _refuse_unknown_words(written, words_of(field))
    if name.endswith(SEVERAL):
        return sorted(set(array(written)))
    for parameter in written:
        if parameter.name != name or len(parameter.values) > 1:
            raise parameter.refusal(_spelling(name, field))
    return written[0].values[0]


def _spelling(name: str, field: forms.Field) -> str:
    base = bare(name)
    if not isinstance(field, Amount):
        return f"Must be written once, as {base}."
    ends = [f"{base}[{lookup}]" for lookup in RANGE[1:]]
    return f"Must be written as {base}, or as {', '.join(ends)}, each once."


def bare(name: str) -> str:
    """Return a parameter's name without its brackets."""
    return name.partition("[")[0]


def words_of(field: Any) -> list[str]:
    """Return the values that a choice takes."""
    return [word for word, _label in field.choices if word]


def _refuse_unknown_words(written: list[Given], words: list[str]) -> None:
    for parameter in written:
        if not set(parameter.values) <= set(words):
            raise parameter.refusal(f"Must be one of: {', '.join(words)}.")


class Filters(FilterSet):
    """A resource's filters.

    `parameters` are names of the API for columns, where it has others. `meanings` explain the
    parameters in the API's schema, `choices` name the values that they take.
    """

    meanings: Mapping[str, str] = {}
    choices: Mapping[str, Choices] = {}
    parameters: Mapping[str, str] = {"created_at": "created"}
    base_filters: Mapping[str, Filter] = {}

    class Meta:
        form = StrictForm
        filter_overrides = {
            models.CharField: {"filter_class": TextFilter},
            models.BigIntegerField: {"filter_class": AmountFilter},
            models.DateTimeField: {"filter_class": InstantFilter},
        }

    def __init__(self, data: QueryDict, queryset: Rows, **options: Any) -> None:
        """:raises ParameterInvalid: a parameter's name is none."""
        self.given = given(data)
        asked: dict[str, list[Given]] = {}
        for base, parameters in self.given.items():
            for one in parameters:
                # The first of these names that a filter has; the list's own are no filter's.
                possible = (one.name, f"{base}{SEVERAL}", base)
                for name in [name for name in possible if name in self.base_filters][:1]:
                    asked.setdefault(name, []).append(one)
        # In the order of the filters; the ends of a range in the order in which they were given.
        bases = [bare(name) for name in self.base_filters]
        names = sorted(asked, key=lambda name: bases.index(bare(name)))
        # Each filter set has copies of its filters: those that nobody asked for cost the most.
        self.base_filters = {name: self.base_filters[name] for name in names}
        super().__init__(asked, queryset, **options)

    @classmethod
    def get_filter_name(cls, field_name: str, lookup_expr: str) -> str:
        """Return the parameter that asks for a lookup of a column."""
        brackets = {"exact": "", "in": SEVERAL}.get(lookup_expr, f"[{lookup_expr}]")
        name = cls.parameters.get(field_name, field_name) + brackets
        return cls.parameters.get(name, name)

    @classmethod
    def get_filters(cls) -> dict[str, Filter]:
        """Return the filters by their parameters."""
        filters: dict[str, Filter] = super().get_filters()
        for one in filters.values():
            # Nothing shows a label, and django-filter would make one for each query.
            one.label = ""
        return filters

    @classmethod
    def filter_for_lookup(cls, field: Any, lookup_type: str) -> tuple[type[Filter], dict[str, Any]]:
        """Return the class of a filter, and the options it is made with."""
        if field.choices:
            kind = AnyOfFilter if lookup_type == "in" else ChoiceFilter
            # Of a function: each query would copy a list.
            return kind, {"choices": lambda: field.choices}
        return super().filter_for_lookup(field, lookup_type)

    def apart_from(self, name: str) -> Rows:
        """Return the rows that match all filters but the ranges of column `name`."""
        rows = self.queryset.all()
        for key, value in self.form.cleaned_data.items():
            if not self._is_range_of(name, key):
                one = self.filters[key]
                one.field_name = column(rows, one.field_name)
                rows = one.filter(rows, value)
        return rows

    def bounds(self, name: str) -> list[Bound]:
        """Return what the ranges ask of column `name`."""
        return [
            bound
            for key, value in self.form.cleaned_data.items()
            if self._is_range_of(name, key)
            for bound in as_bounds(self.filters[key].lookup_expr, value)
        ]

    def rows_for_counting(self) -> Rows | None:
        """Return an equivalent queryset of another table for `total_count`; None without one.

        It is read from an index alone, and has the `along_` columns of the list's order.
        """
        return None

    def parts(self, _rows: Rows) -> Parts | None:
        """Return the values of a column that matching rows may have, each with its own index.

        None if one index has what matches in the list's order.
        """
        return None

    @property
    def takes_any_of_several(self) -> bool:
        """Return whether one of several values is enough: what is found is in no index's order."""
        cleaned = self.form.cleaned_data
        return any(
            len(cleaned[key]) > 1 for key in cleaned if isinstance(self.filters[key], AnyOfFilter)
        )

    def _is_range_of(self, name: str, key: str) -> bool:
        one = self.filters[key]
        return one.field_name == name and isinstance(one, AmountFilter | InstantFilter)
