"""What the lists of events and deliveries know beyond the conventions (contract 7)."""

from django.db.models import Exists, OuterRef, Q

from core.rest.fields import Shape
from core.rest.filters import Rows, Strict
from core.rest.lists import ListSpec
from core.rest.query import Given, scalar
from events.filters import EventFilters
from webhooks.models import Delivery

MEANINGS = {"true": True, "false": False}


class Delivered(Strict):
    """`delivery_success=false`: something of the event is pending, or was given up."""

    def shapes(self, name: str) -> dict[str, Shape]:
        return {name: {"type": "boolean"}}

    def read(self, parameters: list[Given]) -> bool:
        if scalar(parameters) not in MEANINGS:
            raise parameters[0].refusal("Must be true or false.")
        return MEANINGS[scalar(parameters)]

    def narrowed(self, rows: Rows, wanted: bool) -> Rows:
        owed = Delivery.objects.filter(
            Q(status="pending") | Q(is_missed=True), event=OuterRef("id")
        )
        return rows.exclude(Exists(owed)) if wanted else rows.filter(Exists(owed))


class DeliveredEventFilters(EventFilters):
    delivery_success = Delivered("id")


EVENTS = ListSpec(filters=DeliveredEventFilters)
ENDPOINTS = ListSpec()
# Their ids alone say which is newer.
DELIVERIES = ListSpec(sort_keys={"created": "id"})
