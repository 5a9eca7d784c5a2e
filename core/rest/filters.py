"""Filters of lists: declared per resource, combined with AND, strict (spec: List conventions 6).

Each of them reads its own parameters as the query gave them. What it does not
understand it refuses by the parameter's name, and never repeats a value.
"""

import re
from collections.abc import Callable, Collection
from copy import copy
from datetime import UTC, datetime
from typing import Any, Self

from django import forms
from django.db.models import QuerySet
from django_filters import Filter, FilterSet

from core.money import MAX_REQUESTED_MINOR, is_currency
from core.querysets import MerchantRows
from core.rest.bounds import Bound, as_bounds, column
from core.rest.fields import Shape
from core.rest.parts import Parts
from core.rest.query import Given, array, scalar

Rows = QuerySet[Any]
# The words in a range's brackets, and the lookup that each means.
OPERATORS = {(): "exact", ("gt",): "gt", ("gte",): "gte", ("lt",): "lt", ("lte",): "lte"}
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,11}", re.ASCII)
LAST_SECOND = 99_999_999_999  # In the year 5138: what a calendar can still hold.


class Filters(FilterSet):
    """A resource's filters, which take what `query.given` returns."""

    def apart_from(self, name: str) -> Rows:
        """Return the rows that match all filters but the ranges of column `name`."""
        rows = self.queryset.all()
        for key, value in self.form.cleaned_data.items():
            if not self._is_range_of(name, key):
                rows = self.filters[key].filter(rows, value)
        return rows

    def bounds(self, name: str) -> list[Bound]:
        """Return what the ranges ask of column `name`."""
        cleaned = self.form.cleaned_data
        return [
            bound
            for key in cleaned
            if self._is_range_of(name, key)
            for asked in cleaned[key] or []
            for bound in as_bounds(self.filters[key].bounds(*asked))
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
        return any(len(cleaned[key] or ()) > 1 for key in cleaned if self._is_any_of(key))

    def _is_any_of(self, key: str) -> bool:
        return isinstance(self.filters[key], AnyOf)

    def _is_range_of(self, name: str, key: str) -> bool:
        one = self.filters[key]
        return isinstance(one, Range) and one.field_name == name


class _AsGiven(forms.Widget):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Given]:
        return data.get(name, [])


class _Read(forms.Field):
    """The place in FilterSet's form where a filter reads its parameters."""

    widget = _AsGiven

    def __init__(self, read: Callable[[list[Given]], Any]) -> None:
        self.read = read
        super().__init__(required=False)

    def clean(self, value: list[Given]) -> Any:
        return self.read(value) if value else None


class Strict(Filter):
    """A filter that says how it reads its parameters (`read`), None if it has none."""

    @property
    def field(self) -> forms.Field:
        return _Read(self.read)

    def read(self, parameters: list[Given]) -> Any:
        """Return what is asked for.

        :raises ParameterInvalid: what is given means nothing.
        """
        raise NotImplementedError

    def __deepcopy__(self, _memo: object) -> Self:
        # A FilterSet copies its filters for each query and sets itself as their parent; nothing
        # else of them ever changes.
        return copy(self)

    def shapes(self, name: str) -> dict[str, Shape]:
        """Return the schema of each parameter that it reads."""
        raise NotImplementedError

    def filter(self, qs: Rows, value: Any) -> Rows:
        return qs if value is None else self.narrowed(qs, value)

    def narrowed(self, rows: Rows, wanted: Any) -> Rows:
        """Return the rows that have what `read` returned."""
        return rows.filter(**{self.field_name: wanted})


class Equal(Strict):
    """`x=v`: text of a given form."""

    def __init__(self, field_name: str, *, form: str = ".{1,500}", **options: Any) -> None:
        super().__init__(field_name, **options)
        self.form = re.compile(form, re.ASCII | re.DOTALL)

    def shapes(self, name: str) -> dict[str, Shape]:
        return {name: {"type": "string", "pattern": f"^{self.form.pattern}$"}}

    def read(self, parameters: list[Given]) -> str:
        text = scalar(parameters)
        if not self.form.fullmatch(text):
            raise parameters[0].refusal()
        return text


class Words(Strict):
    """A filter by a few known values."""

    def __init__(self, field_name: str, choices: Collection[str], **options: Any) -> None:
        super().__init__(field_name, **options)
        self.choices = choices  # As given: a registry is complete only once all apps are ready.

    def refuse_unknown(self, parameters: list[Given]) -> None:
        for parameter in parameters:
            if not set(parameter.values) <= set(self.choices):
                raise parameter.refusal(f"Must be one of: {', '.join(self.choices)}.")


class OneOf(Words):
    """`x=v`: that value."""

    def shapes(self, name: str) -> dict[str, Shape]:
        return {name: {"type": "string", "enum": list(self.choices)}}

    def read(self, parameters: list[Given]) -> str:
        self.refuse_unknown(parameters)
        return scalar(parameters)


class AnyOf(Words):
    """`x[]=v&x[]=w`: any of the values."""

    def shapes(self, name: str) -> dict[str, Shape]:
        words = {"type": "string", "enum": list(self.choices)}
        return {f"{name}[]": {"type": "array", "items": words}}

    def read(self, parameters: list[Given]) -> list[str]:
        self.refuse_unknown(parameters)
        return sorted(set(array(parameters)))

    def narrowed(self, rows: Rows, wanted: list[str]) -> Rows:
        # By `=` where it can be: only then does an index behind it give the order too.
        if len(wanted) == 1:
            return super().narrowed(rows, wanted[0])
        return rows.filter(**{f"{self.field_name}__in": wanted})


class Currency(Strict):
    """`currency=try`, in any case; a currency that the installation does not take finds nothing.

    Three letters that are no currency's are refused.
    """

    def shapes(self, name: str) -> dict[str, Shape]:
        return {name: {"type": "string", "pattern": "^[A-Za-z]{3}$"}}

    def read(self, parameters: list[Given]) -> str:
        code = scalar(parameters)
        # Letters of other alphabets may become small ones of ours.
        if not code.isascii() or not is_currency(code.lower()):
            raise parameters[0].refusal("Must be a currency's three letters, as ISO 4217 has them.")
        return code.lower()


class Range(Strict):
    """`x=n`, `x[gte]=n` and so on, any of them at once: whole numbers."""

    most: int

    def shapes(self, name: str) -> dict[str, Shape]:
        number = {"type": "integer", "minimum": 0, "maximum": self.most}
        return {f"{name}{''.join(f'[{key}]' for key in keys)}": dict(number) for keys in OPERATORS}

    def read(self, parameters: list[Given]) -> list[tuple[str, int]]:
        return [self._bound(parameter) for parameter in parameters]

    def _bound(self, parameter: Given) -> tuple[str, int]:
        if parameter.keys not in OPERATORS or len(parameter.values) > 1:
            raise parameter.refusal()
        [text] = parameter.values
        if not WHOLE_NUMBER.fullmatch(text) or int(text) > self.most:
            raise parameter.refusal("Must be a whole number in the allowed range.")
        return OPERATORS[parameter.keys], int(text)

    def narrowed(self, rows: Rows, wanted: list[tuple[str, int]]) -> Rows:
        name = column(rows, self.field_name)
        for operator, number in wanted:
            for lookup, value in self.bounds(operator, number):
                rows = rows.filter(**{f"{name}__{lookup}": value})
        return rows

    def bounds(self, operator: str, number: int) -> list[tuple[str, Any]]:
        """Return what an operator asks of the column, as lookups."""
        return [(operator, number)]


class Amounts(Range):
    """Money in minor units."""

    most = MAX_REQUESTED_MINOR


class Instants(Range):
    """Unix seconds. The API shows whole ones, so that `created=n` is all of second n."""

    most = LAST_SECOND

    def bounds(self, operator: str, number: int) -> list[tuple[str, Any]]:
        begins, ends = (datetime.fromtimestamp(at, UTC) for at in (number, number + 1))
        return {
            "exact": [("gte", begins), ("lt", ends)],
            "gte": [("gte", begins)],
            "gt": [("gte", ends)],
            "lt": [("lt", begins)],
            "lte": [("lt", ends)],
        }[operator]


class RelatedId(Equal):
    """`customer=cus_…`: the id of another of the merchant's objects.

    :param param: the filter's name, where the column has another.
    """

    def __init__(
        self, field_name: str, related: MerchantRows, *, param: str | None = None, **options: Any
    ) -> None:
        super().__init__(field_name, form=".*", **options)
        self.related, self.param = related, param or field_name

    def narrowed(self, rows: Any, wanted: str) -> Rows:
        """:raises ResourceMissing: the merchant of the rows has no such object."""
        found = self.related.for_merchant(rows.merchant).find(wanted, param=self.param)
        return rows.filter(**{self.field_name: found.pk})
