"""Filters of the lists of events: type or family of types, object, time (contract 7)."""

from functools import cache

from core.rest.fields import Shape
from core.rest.filters import Equal, Filters, Instants, OneOf, Rows, Strict
from core.rest.parts import Parts
from core.rest.query import Given, array, scalar
from events.types import AGGREGATES, names


@cache
def meanings() -> dict[str, list[str]]:
    """Return the values of `types[]`, and the types that each means: one, or all of an object."""
    return {
        **{name: [name] for name in names()},
        **{f"{one.name}.*": list(one.types) for one in AGGREGATES.values()},
    }


class AnyType(Strict):
    """`types[]=refund.*&types[]=payout.paid`."""

    def shapes(self, name: str) -> dict[str, Shape]:
        return {f"{name}[]": {"type": "array", "items": {"enum": list(meanings())}}}

    def read(self, parameters: list[Given]) -> list[str]:
        for parameter in parameters:
            if not set(parameter.values) <= meanings().keys():
                raise parameter.refusal("There is no such event type.")
        return sorted({name for value in array(parameters) for name in meanings()[value]})

    def narrowed(self, rows: Rows, wanted: list[str]) -> Rows:
        if len(wanted) > 1:
            return rows.filter(**{f"{self.field_name}__in": wanted})
        return rows.filter(**{self.field_name: wanted[0]})


class OneType(AnyType):
    """`type=payment_intent.succeeded`, or `type=payment_intent.*`."""

    def shapes(self, name: str) -> dict[str, Shape]:
        return {name: {"enum": list(meanings())}}

    def read(self, parameters: list[Given]) -> list[str]:
        scalar(parameters)
        return super().read(parameters)


class AggregateType(OneOf):
    """`aggregate_type=refund`, which is asked by its types too: those have an index."""

    def narrowed(self, rows: Rows, wanted: str) -> Rows:
        return super().narrowed(rows, wanted).filter(type__in=meanings()[f"{wanted}.*"])


class EventFilters(Filters):
    type = OneType("type")
    types = AnyType("type")
    created = Instants("created_at")
    aggregate_type = AggregateType("aggregate_type", AGGREGATES)
    aggregate_id = Equal("aggregate_id")

    def parts(self, rows: Rows) -> Parts | None:
        """Return the types that are asked for: each has an index in the list's order.

        Those of one object are few, and have an index of their own.
        """
        types = self._types(rows)
        if types is None or len(types) < 2 or self.form.cleaned_data["aggregate_id"]:
            return None
        return Parts("type", sorted(types))

    def _types(self, rows: Rows) -> set[str] | None:
        """Return the types that are asked for, of those that may be read; None for all of them."""
        cleaned = self.form.cleaned_data
        family = cleaned["aggregate_type"]
        asked = [
            getattr(rows, "types", None),
            cleaned["type"],
            cleaned["types"],
            meanings()[f"{family}.*"] if family else None,
        ]
        named = [set(types) for types in asked if types is not None]
        return set.intersection(*named) if named else None
