"""Filters of the lists of events: type or family of types, object, time (contract 7)."""

from functools import cache

from django import forms
from django_filters import ChoiceFilter, Filter

from core.rest.components import Choices, Shape
from core.rest.filters import EXACT, RANGE, AsGiven, Filters, Rows
from core.rest.parts import Parts
from core.rest.query import Given, array
from events import types
from events.models import Event
from events.types import AGGREGATES, names

NO_TYPE = "There is no such event type."


@cache
def meanings() -> dict[str, list[str]]:
    """Return the values of `types[]`, and the types that each means: one, or all of an object."""
    return {
        **{name: [name] for name in names()},
        **{f"{one.name}.*": list(one.types) for one in AGGREGATES.values()},
    }


def known_types() -> str:
    return f"The types are {', '.join(names())}; payment_intent.* stands for all of an object."


@cache
def _words() -> Choices:
    families = {f"{name}.*": f"All types that begin with `{name}.`" for name in AGGREGATES}
    return Choices("EventTypeFilter", {**types.meanings(), **families})


class EventType(forms.Field):
    """`type=payment_intent.succeeded`, or `type=payment_intent.*`: the types that it means."""

    advice = property(lambda _self: known_types())

    @property
    def shape(self) -> Shape:
        return _words().closed()

    def clean(self, value: str) -> list[str]:
        if value not in meanings():
            raise forms.ValidationError(NO_TYPE)
        return sorted(meanings()[value])


class EventTypes(AsGiven):
    """`types[]=refund.*&types[]=payout.paid`."""

    @property
    def shape(self) -> Shape:
        return {"type": "array", "items": _words().closed()}

    def clean(self, value: list[Given]) -> list[str]:
        for parameter in value:
            if not set(parameter.values) <= meanings().keys():
                raise parameter.refusal(NO_TYPE, known_types())
        return sorted({name for one in array(value) for name in meanings()[one]})


class EventTypeFilter(Filter):
    field_class = EventType


class EventTypesFilter(Filter):
    field_class = EventTypes


def _of_aggregate_type(rows: Rows, name: str, wanted: str) -> Rows:
    # Asked by its types too: those have an index.
    return rows.filter(**{name: wanted, "type__in": meanings()[f"{wanted}.*"]})


class EventFilters(Filters):
    parameters = {**Filters.parameters, "type[]": "types[]"}
    meanings = {
        "type": "The type, or a family of types: `payment_intent.*`.",
        "types": "Types, or families of types: `payment_intent.*`.",
        "aggregate_type": "What the changed object is.",
        "aggregate_id": "The id of the changed object.",
        "delivery_success": "False if a delivery of the event is pending or was missed.",
    }

    type = EventTypeFilter(lookup_expr="in")
    vars()["types[]"] = EventTypesFilter("type", lookup_expr="in")
    aggregate_type = ChoiceFilter(
        choices=lambda: [(one.name, one.name) for one in AGGREGATES.values()],
        method=_of_aggregate_type,
    )

    class Meta(Filters.Meta):
        model = Event
        fields = {
            "type": ["exact", "in"],
            "created_at": RANGE,
            "aggregate_type": EXACT,
            "aggregate_id": EXACT,
        }

    def parts(self, rows: Rows) -> Parts | None:
        """Return the types that are asked for: each has an index in the list's order.

        Those of one object are few, and have an index of their own.
        """
        asked = self._types(rows)
        if asked is None or len(asked) < 2 or "aggregate_id" in self.form.cleaned_data:
            return None
        return Parts("type", sorted(asked))

    def _types(self, rows: Rows) -> set[str] | None:
        """Return the types that are asked for, of those that may be read; None for all of them."""
        cleaned = self.form.cleaned_data
        family = cleaned.get("aggregate_type")
        asked = [
            getattr(rows, "types", None),
            cleaned.get("type"),
            cleaned.get("types[]"),
            meanings()[f"{family}.*"] if family else None,
        ]
        named = [set(one) for one in asked if one is not None]
        return set.intersection(*named) if named else None
