"""Bracket notation, `a[b][0]=v`, of form bodies and of queries (contract 12)."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from core.detection import mask_card_numbers
from core.errors import ParameterInvalid

Path = tuple[str | int, ...]

MAX_DEPTH = 8
MAX_PARAMETERS = 1000
APPEND = ""  # The last part of `a[]`.

_INDEX = re.compile(r"[0-9]{0,3}")
_NAME = re.compile(r"[^\[\]]+(?:\[[^\[\]]+\])*(?:\[\])?")


class TooManyParameters(ParameterInvalid):
    message = f"There are more than {MAX_PARAMETERS} parameters."


class Written(str):
    """A value as it is written in a form or a query, where everything is text.

    `12500` and `true` may be a number, a boolean, or a description: the field that
    reads the value knows which it takes. JSON has types, and its texts stay texts.
    """

    __slots__ = ()


class Indexed(list[Any]):
    """A list whose items were written under their indexes, `a[0]=` `a[1]=`.

    They may have been an object's keys: a field that takes any key reads `named`.
    """

    @property
    def named(self) -> dict[str, Any]:
        return {str(index): item for index, item in enumerate(self)}


def path(name: str) -> tuple[str, ...]:
    """Return what a name is made of: `a[b][]` is `a`, `b` and `APPEND`.

    :raises ParameterInvalid: the brackets do not match, `[]` is not the last, or there
        are more than 8 parts.
    """
    if not _NAME.fullmatch(name):
        raise ParameterInvalid("The parameter's brackets are not right.", param=shown_name(name))
    parts = tuple(name.replace("]", "").split("["))
    if len(parts) > MAX_DEPTH:
        raise ParameterInvalid("The parameter is nested too deeply.", param=shown_name(name))
    return parts


def is_item(rest: Sequence[str]) -> bool:
    """Return whether what follows a list's name says an item of it: nothing, `[]` or `[0]`."""
    return not rest or (len(rest) == 1 and _INDEX.fullmatch(rest[0]) is not None)


def nested(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object that parameters spell: dicts, and lists where `[]` or indexes are.

    Indexes that do not count from 0 without a gap are taken for an object's keys, which
    a field that takes a list refuses.

    :raises ParameterInvalid: a name is malformed, is given twice, or is a value as well
        as an object or a list.
    """
    tree: dict[str, Any] = {}
    for name, value in pairs:
        if not _put(tree, path(name), value):
            message = "The parameter is given twice, or in two shapes."
            raise ParameterInvalid(message, param=shown_name(name))
    return {part: _settled(branch) for part, branch in tree.items()}


def _put(tree: dict[str, Any], parts: tuple[str, ...], value: Any) -> bool:
    """Hang a value into the tree; return whether its place is free."""
    *parents, last = parts
    for part in parents:
        inner = tree.setdefault(part, {})
        # Items that are appended do not mix with names: which item would `a[0]` be?
        if APPEND in tree or not isinstance(inner, dict):
            return False
        tree = inner
    if last == APPEND:
        tree.setdefault(APPEND, []).append(value)
        return tree.keys() == {APPEND}
    is_free = last not in tree and APPEND not in tree
    tree.setdefault(last, value)
    return is_free


def _settled(branch: Any) -> Any:
    if not isinstance(branch, dict):
        return branch
    if APPEND in branch:
        return branch[APPEND]
    inner = {part: _settled(value) for part, value in branch.items()}
    indexes = [str(index) for index in range(len(inner))]
    if inner.keys() != set(indexes):
        return inner
    return Indexed(inner[index] for index in indexes)


# --- Names as errors show them ----------------------------------------------------------------


def bracketed(path: Path) -> str:
    """Write a path as the client would: `a[b][0]`."""
    first, *rest = path or ("",)
    return f"{first}" + "".join(f"[{part}]" for part in rest)


def shown_name(name: str) -> str:
    """Return a parameter's name as an error may show it: no card number, no broken text."""
    printable = name.encode("utf-8", "replace").decode().replace("\x00", "?")
    return mask_card_numbers(printable)[:200]
