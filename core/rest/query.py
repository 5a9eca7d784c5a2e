"""Reading a query string strictly (contract 7)."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote_to_bytes

from django.http import QueryDict

from core.detection import contains_card_number
from core.errors import CardDataInUrl, ParameterInvalid
from core.rest import brackets
from core.rest.brackets import MAX_PARAMETERS, shown_name


def refuse_unsafe_url(path: str, query: str) -> None:
    """Refuse card numbers, NULs and broken UTF-8 before anything reads the address.

    :raises CardDataInUrl: a card number in the path or the query.
    :raises ParameterInvalid: text that is no text; `param` names the parameter.
    """
    if contains_card_number(path):
        raise CardDataInUrl
    for raw_name, raw_value in parse_qsl(query, keep_blank_values=True, encoding="latin-1"):
        name, value = _text(raw_name), _text(raw_value)
        if name is None or value is None:
            raise ParameterInvalid(
                param=shown_name(raw_name.encode("latin-1").decode("utf-8", "replace"))
            )
        if contains_card_number(name) or contains_card_number(value):
            raise CardDataInUrl
    if contains_card_number(unquote_to_bytes(query.replace("+", " ")).decode("utf-8", "replace")):
        raise CardDataInUrl


def _text(latin: str) -> str | None:
    try:
        text = latin.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def arguments(query: QueryDict, *, scalars: Iterable[str] = (), arrays: Iterable[str] = ()) -> dict:
    """Return the query's known arguments: a string per scalar, a list per array.

    `x[]=v`, `x[0]=v` and `x=v` are the same for an array.

    :raises ParameterInvalid: an unknown or malformed name, or a scalar given twice.
    """
    found: dict = {}
    for count, (name, values) in enumerate(query.lists()):
        base, *rest = brackets.path(name)
        if base in arrays and brackets.is_item(rest):
            found.setdefault(base, []).extend(values)
        elif name in scalars and len(values) == 1 and count < MAX_PARAMETERS:
            found[name] = values[0]
        else:
            raise ParameterInvalid(param=shown_name(name))
    return found
