"""Filters of an address as text: the labels of the form, and its choices."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

BOUNDS: dict[str, Any] = {
    "created[gte]": _("From"),
    "created[gt]": _("Later than"),
    "created[lt]": _("Before"),
    "created[lte]": _("Up to"),
}


class FilterWords(NamedTuple):
    """One filter.

    :param moment: of a bound of the time, which has no text.
    """

    label: str | Promise
    text: str = ""
    moment: datetime | None = None


def in_words(query: QueryDict, form: forms.Form) -> list[FilterWords]:
    """Return the filters of a query in the API's terms; nothing for one that narrows nothing."""
    return list(_words(query, form))


def _words(query: QueryDict, form: forms.Form) -> Iterator[FilterWords]:
    for name, values in query.lists():
        moment = moment_of(values[-1]) if name in BOUNDS else None
        if moment:
            yield FilterWords(BOUNDS[name], moment=moment)
            continue
        field = _input(name, form)
        if field is None:
            # No input of people has it: it stands as the API takes it.
            yield FilterWords(name, ", ".join(values))
        elif field.name in getattr(form, "human", {}):
            yield FilterWords(field.label, str(field.value() or ", ".join(values)))
        else:
            yield FilterWords(field.label, ", ".join(_choice(field, one) for one in values))


def _input(name: str, form: forms.Form) -> forms.BoundField | None:
    of_people = {bound: one for one, bound in getattr(form, "human", {}).items()}
    bare = name.partition("[")[0]
    found = next(
        (one for one in (of_people.get(name), name, f"{bare}[]") if one in form.fields), None
    )
    return form[found] if found else None


def _choice(field: forms.BoundField, value: str) -> str:
    of_widget = getattr(field.field.widget, "choices", ())
    known: Any = getattr(field.field, "choices", None) or of_widget
    return str(dict(known).get(value, value))


def moment_of(written: str | None) -> datetime | None:
    """Return the instant of a bound of the address, in UTC; None if it is none."""
    if not written:
        return None
    is_number = written.isascii() and written.isdecimal() and len(written) <= 11
    return datetime.fromtimestamp(int(written), UTC) if is_number else None
