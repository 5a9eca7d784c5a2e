"""The query parameters that every list takes: limit, cursors, sort, search, count.

Filters differ from list to list and are read elsewhere (spec: List conventions).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import DomainError, Explained
from core.folding import trimmed
from core.rest.query import Given, array, scalar

LIMIT = re.compile(r"[1-9][0-9]?|100", re.ASCII)
LIMIT_DEFAULT = 10
SEARCH_MAX = 255  # Characters; what a description is indexed by.
CURSORS = ("starting_after", "ending_before")
DEFAULT_SORT = "-created"


class ParametersExclusive(DomainError):
    explained = Explained(
        cause=(
            "The request has two parameters that exclude each other: both cursors of a list, or two"
            " ways to say what a checkout session is for."
        ),
        remedy=(
            "Leave one of them out. Of a list's cursors, `starting_after` reads the next page, and"
            " `ending_before` the one before."
        ),
    )
    code = "parameters_exclusive"
    message = "These parameters exclude each other: give one of them."


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The conventions' part of a query.

    :param cursor: its parameter's name and the id, None on a first page.
    :param sort: the column that the list is sorted by.
    :param created: the column that it is sorted by when nothing is said.
    :param text: the terms of `q`, None without a search.
    """

    limit: int
    cursor: tuple[str, str] | None
    sort: str
    created: str
    is_ascending: bool
    is_counted: bool
    text: str | None

    @property
    def is_backward(self) -> bool:
        return self.cursor is not None and self.cursor[0] == "ending_before"

    @property
    def is_upward(self) -> bool:
        """Return whether the rows are read from small to large."""
        return self.is_ascending != self.is_backward

    def place(self, row: Any) -> tuple[Any, ...]:
        """Return where a row stands; no other row stands there."""
        return tuple(getattr(row, name) for name in self.columns)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys((self.sort, "id")))


def read(
    parameters: Mapping[str, list[Given]],
    *,
    names: Collection[str],
    sort_keys: Mapping[str, str],
    default_sort: str = DEFAULT_SORT,
) -> ListQuery:
    """Return what is asked of a list that takes the parameters `names`.

    :param sort_keys: by the key's name the column.
    :param default_sort: the order when nothing is said.
    :raises ParameterInvalid: an unknown parameter, or a value that means nothing.
    :raises ParametersExclusive: both cursors.
    """
    for name, written in parameters.items():
        if name not in names:
            raise written[0].unknown(names)
    sort, is_ascending = _sort(parameters.get("sort"), sort_keys, default_sort)
    return ListQuery(
        limit=_limit(parameters.get("limit")),
        cursor=_cursor(parameters),
        sort=sort,
        created=sort_keys["created"],
        is_ascending=is_ascending,
        is_counted=_is_counted(parameters.get("include", [])),
        text=_text(parameters.get("q")),
    )


def _limit(written: list[Given] | None) -> int:
    if not written:
        return LIMIT_DEFAULT
    text = scalar(written)
    if not LIMIT.fullmatch(text):
        raise written[0].refusal("Must be an integer from 1 to 100.")
    return int(text)


def _cursor(parameters: Mapping[str, list[Given]]) -> tuple[str, str] | None:
    cursors = [(name, scalar(parameters[name])) for name in CURSORS if name in parameters]
    if len(cursors) > 1:
        message = "Give starting_after or ending_before, not both."
        raise ParametersExclusive(message, param=CURSORS[1])
    return cursors[0] if cursors else None


def _sort(
    written: list[Given] | None, sort_keys: Mapping[str, str], default: str
) -> tuple[str, bool]:
    text = scalar(written) if written else default
    key = text.removeprefix("-")
    if written and key not in sort_keys:
        raise written[0].refusal(
            f"Must be one of: {', '.join(sort_keys)}.",
            "A - before the key sorts from large to small; - alone or two keys mean nothing.",
        )
    return sort_keys[key], key == text


def _is_counted(written: list[Given]) -> bool:
    for parameter in written:
        if any(value != "total_count" for value in parameter.values):
            raise parameter.refusal("Only total_count can be included.")
    return bool(array(written))


def _text(written: list[Given] | None) -> str | None:
    if not written:
        return None
    text = trimmed(scalar(written))
    if not 1 <= len(text) <= SEARCH_MAX:
        raise written[0].refusal(f"Must have 1 to {SEARCH_MAX} characters.")
    return text
