"""Bounds of the column that a list is sorted by, and where that column is read."""

from collections.abc import Sequence
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from django.db.models import QuerySet

COMPARISONS = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
Rows = QuerySet[Any]


class Bound(NamedTuple):
    """One end of a range of a column: `gt`, `gte`, `lt` or `lte`, and the value there."""

    lookup: str
    value: Any

    def is_met_by(self, value: Any) -> bool:
        return COMPARISONS[self.lookup](value, self.value)


def as_bounds(lookup: str, value: Any) -> list[Bound]:
    """Return a lookup of a column as bounds; equality and a range are two of them."""
    if lookup not in ("exact", "range"):
        return [Bound(lookup, value)]
    first, last = value if lookup == "range" else (value, value)
    return [Bound("gte", first), Bound("lte", last)]


def column(rows: Rows, name: str) -> str:
    """Return what to read in the order of column `name`.

    A filter whose own table has the column too, in an index behind what it asks for,
    gives the rows an alias `along_<name>`: read along that one, a page costs the same at
    any depth.
    """
    along = f"along_{name}"
    return along if along in rows.query.annotations else name


def columns(rows: Rows, names: Sequence[str]) -> list[str]:
    """Return what to read in the order of several columns: all `along_` others, or none of them.

    A comparison of rows with columns of two tables is in no index.
    """
    along = [column(rows, name) for name in names]
    return list(names) if set(along) & set(names) else along
