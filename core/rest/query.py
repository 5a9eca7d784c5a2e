"""Reading a query string strictly (contract 7)."""

from collections.abc import Collection, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_plus

from django.http import QueryDict

from core.detection import contains_encoded_card_number
from core.errors import CardDataInUrl, ParameterInvalid, QueryParameterUnknown
from core.rest import brackets
from core.rest.brackets import MAX_PARAMETERS, TooManyParameters, Written, shown_name
from core.rest.messages import instead_of

NO_TEXT = "Must be percent-encoded UTF-8 text."
ONE_VALUE = "Must be given once, without brackets."


class Given(NamedTuple):
    """A parameter as the query gives it.

    :param name: as it was written, `amount[gte]`.
    :param keys: the texts in its brackets, `("gte",)` of `created[gte]`.
    """

    name: str
    keys: tuple[str, ...]
    values: list[str]

    def refusal(self, message: str | None = None, advice: str = "") -> ParameterInvalid:
        """Return the refusal that names this parameter and none of its values."""
        return ParameterInvalid(message, param=shown_name(self.name), advice=advice)

    def unknown(self, known: Collection[str]) -> ParameterInvalid:
        """Return the refusal of a parameter that is none of those that are known."""
        base = self.name.partition("[")[0]
        advice = instead_of(base, sorted(known))
        return QueryParameterUnknown(param=shown_name(self.name), advice=advice)


def refuse_unsafe_url(path: str, query: str) -> None:
    """Refuse card numbers, NULs and broken UTF-8 before anything reads the address.

    :param path: decoded once, as WSGI gives it.
    :param query: as it came, every character a byte.
    :raises CardDataInUrl: a card number in the path or the query.
    :raises TooManyParameters: more than Django would read; `param` names the first of them.
    :raises ParameterInvalid: text that is no text; `param` names the parameter.
    """
    # Card numbers first: whatever else is wrong, the refusal names parameters.
    spaced = _as_utf8(query).replace("+", " ")
    if contains_encoded_card_number(path, decoded=1) or contains_encoded_card_number(spaced):
        raise CardDataInUrl
    _refuse_too_many(query)
    for raw_name, raw_value in parse_qsl(query, keep_blank_values=True, encoding="latin-1"):
        if _text(raw_name) is None or _text(raw_value) is None:
            raise ParameterInvalid(NO_TEXT, param=shown_name(_as_utf8(raw_name)))


def _refuse_too_many(query: str) -> None:
    # As Django counts, which would say no more than that the request is malformed.
    parameters = query.split("&", MAX_PARAMETERS + 1)
    if len(parameters) > MAX_PARAMETERS:
        raw_name = parameters[MAX_PARAMETERS].partition("=")[0]
        raise TooManyParameters(param=shown_name(unquote_plus(_as_utf8(raw_name))) or None)


def _as_utf8(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "replace")


def _text(latin: str) -> str | None:
    try:
        text = latin.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def given(query: QueryDict) -> dict[str, list[Given]]:
    """Return the query's parameters by what stands before their brackets.

    :raises ParameterInvalid: a name that is none, or too deep.
    """
    found: dict[str, list[Given]] = {}
    for name, values in query.lists():
        base, *keys = brackets.path(name)
        found.setdefault(base, []).append(Given(name, tuple(keys), values))
    return found


def scalar(parameters: list[Given]) -> str:
    """Return the value of a parameter that has one.

    :raises ParameterInvalid: it is given twice, or with brackets.
    """
    for parameter in parameters:
        if parameter.keys or len(parameter.values) > 1:
            raise parameter.refusal(ONE_VALUE)
    return parameters[0].values[0]


def taken(given: dict[str, list[Given]], names: Iterable[str]) -> dict[str, Written | None]:
    """Take parameters out of a query, as a form reads them; an empty one is none.

    :raises ParameterInvalid: one of them is given twice, or with brackets.
    """
    found = {name: scalar(given.pop(name)) for name in names if name in given}
    return {name: Written(value) if value else None for name, value in found.items()}


def array(parameters: list[Given]) -> list[str]:
    """Return the values of an array: `x[]=v`, `x[0]=v` and `x=v` are the same.

    :raises ParameterInvalid: other brackets, or two values at one place.
    """
    for parameter in parameters:
        is_one_place = any(parameter.keys) and len(parameter.values) > 1
        if is_one_place or not brackets.is_item(parameter.keys):
            raise parameter.refusal("Must be a list: repeat it, with [] behind its name.")
    return [value for parameter in parameters for value in parameter.values]
