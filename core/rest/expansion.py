"""`expand[]`: whole objects in the place of ids (spec: Expandable fields; contract 7).

Expansion works on the rendered objects, which hold the ids: one query per field and level
fetches every object that a page names, from whichever tables its rows came.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Model

from core.errors import ParameterInvalid
from core.querysets import MerchantRows
from core.rest.messages import listed

PARAM = "expand[]"
DEPTH_MAX = 4

Shown = dict[str, Any]
# The fields to expand, each with those inside of it: `{"latest_attempt": {"payment_intent": {}}}`.
Tree = dict[str, Any]


class Reference(NamedTuple):
    """A field that holds an id, or an array of ids, of a kind of object."""

    kind: str
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object, by the name that its `object` shows.

    :param prefix: its ids begin so, with an underscore after it.
    :param rows: all of its rows; those of the merchant who asks are looked at.
    :param scope: the resource that a key must be able to read before it is shown one.
    :param fields: those of its fields that hold ids.
    """

    prefix: str
    rows: MerchantRows
    show: Callable[[Any], Shown]
    scope: str
    fields: Mapping[str, Reference] = field(default_factory=dict)


ObjectKinds = Mapping[str, ObjectKind]
# Fields as a request names them, `latest_attempt.payment_intent`, and the scopes that each takes.
Expandable = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The fields that a request expands, as a tree, and the scopes its key must read them with."""

    tree: Tree
    scopes: frozenset[str]


def expandable(kinds: ObjectKinds, *shown: str) -> Expandable:
    """Return the fields that can be expanded in objects of the `shown` kinds, up to 4 deep."""
    known: dict[str, frozenset[str]] = {}
    for kind in shown:
        for name, scopes in _fields(kinds, kind, DEPTH_MAX):
            known[name] = scopes | known.get(name, frozenset())
    return known


def _fields(
    kinds: ObjectKinds, kind: str, depth: int, *, outside: Iterable[Reference] = ()
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the fields of a kind and what is inside of them, an array never inside of another.

    A payment's hundred attempts, each with its payment's hundred attempts again, would make a
    page of a hundred payments a million objects.
    """
    for name, reference in kinds[kind].fields.items():
        if reference.is_array and any(one.is_array for one in outside):
            continue
        own = frozenset({kinds[reference.kind].scope})
        yield name, own
        if depth > 1:
            way = (*outside, reference)
            for inner, scopes in _fields(kinds, reference.kind, depth - 1, outside=way):
                yield f"{name}.{inner}", own | scopes


def read(fields: Iterable[str], known: Expandable) -> Expansion:
    """Return what fields such as `latest_attempt.payment_intent` ask for.

    :raises ParameterInvalid: a field that cannot be expanded.
    """
    tree: Tree = {}
    scopes: set[str] = set()
    for one in set(fields):
        if one not in known:
            message = "One of the fields cannot be expanded."
            raise ParameterInvalid(message, param=PARAM, advice=_what_can(known))
        scopes.update(known[one])
        branch = tree
        for name in one.split("."):
            branch = branch.setdefault(name, {})
    return Expansion(tree, frozenset(scopes))


def _what_can(known: Expandable) -> str:
    fields = sorted(field for field in known if "." not in field)
    deeper = next((field for field in sorted(known) if "." in field), None)
    inside = f", and what is inside of them, as {deeper}" if deeper else ""
    return f"These can: {listed(fields)}{inside}." if fields else ""


def expand(shown: Iterable[Shown], tree: Tree, kinds: ObjectKinds, merchant: Model) -> None:
    """Replace ids in what is shown by the merchant's objects, in place.

    An id whose object is not there any more stays an id.

    :param shown: objects of any of `kinds`; their `object` says which.
    """
    shown = list(shown)
    for name, inner in tree.items():
        for kind, holders in _holders(shown, name, kinds).items():
            wanted = {row_id for holder in holders for row_id in _ids(holder[name])}
            wholes = _wholes(kinds[kind], wanted, merchant)
            expand(wholes.values(), inner, kinds, merchant)
            for holder in holders:
                holder[name] = _placed(holder[name], wholes)


def _holders(shown: Iterable[Shown], name: str, kinds: ObjectKinds) -> Mapping[str, list[Shown]]:
    holders: dict[str, list[Shown]] = defaultdict(list)
    for one in shown:
        reference = kinds[one["object"]].fields.get(name)
        if reference and name in one:
            holders[reference.kind].append(one)
    return holders


def _ids(value: Any) -> list[str]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _wholes(kind: ObjectKind, ids: set[str], merchant: Model) -> dict[str, Shown]:
    if not ids:
        return {}
    rows = kind.rows.for_merchant(merchant).filter(pk__in=sorted(ids))
    return {row.pk: kind.show(row) for row in rows}


def _placed(value: Any, wholes: Mapping[str, Shown]) -> Any:
    if isinstance(value, list):
        return [wholes.get(row_id, row_id) for row_id in value]
    return wholes.get(value, value)
