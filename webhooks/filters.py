"""Filters and sort keys of the lists of events, endpoints and deliveries (contract 7)."""

from django.db.models import Exists, OuterRef, Q

from core.rest.fields import Shape
from core.rest.filters import AnyOf, Filters, OneOf, RelatedId, Rows, Strict
from core.rest.lists import ListSpec
from core.rest.parts import Parts
from core.rest.query import Given, scalar
from events.filters import EventFilters, OneType
from events.models import Event
from webhooks.models import UNSUCCESSFUL, Delivery

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
        # Few events were not delivered, and their deliveries find them.
        is_for_few = self.form.cleaned_data["delivery_success"] is False
        return None if is_for_few else super().parts(rows)


class DeliveryFilters(Filters):
    status = AnyOf("status", Delivery.Status.values)
    event_type = OneType("event_type")
    event = RelatedId("event", Event.objects.all())
    trigger = OneOf("trigger", Delivery.Trigger.values)

    def parts(self, _rows: Rows) -> Parts | None:
        statuses = self.form.cleaned_data["status"] or ()
        if len(statuses) > 1 and {*statuses} <= {*UNSUCCESSFUL}:
            return Parts("status", statuses)
        return None


EVENTS = ListSpec(filters=DeliveredEventFilters)
ENDPOINTS = ListSpec()
# Ids of deliveries begin with their time, so the list needs no other column for its order.
DELIVERIES = ListSpec(filters=DeliveryFilters, sort_keys={"created": "id"})
