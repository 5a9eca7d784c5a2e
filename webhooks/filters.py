"""Filters and sort keys of the lists of events, endpoints and deliveries (contract 7)."""

from django.db.models import Exists, OuterRef, Q

from core.rest.fields import Shape
from core.rest.filters import Rows, Strict
from core.rest.lists import ListSpec
from core.rest.parts import Parts
from core.rest.query import Given, scalar
from events.filters import EventFilters
from webhooks.models import Delivery

MEANINGS = {"true": True, "false": False}


class Delivered(Strict):
    """`delivery_success=false`: a delivery of the event is pending or was missed."""

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

    def parts(self, rows: Rows) -> Parts | None:
        # Those that were not delivered are few, and found by their deliveries.
        is_for_few = self.form.cleaned_data["delivery_success"] is False
        return None if is_for_few else super().parts(rows)


EVENTS = ListSpec(filters=DeliveredEventFilters)
ENDPOINTS = ListSpec()
# Ids of deliveries begin with their time, so the list needs no other column for its order.
DELIVERIES = ListSpec(sort_keys={"created": "id"})
