"""Filters and sort keys of the lists of events, endpoints and deliveries (contract 7)."""

from django.db.models import Exists, OuterRef, Q

from core.rest.components import Choices
from core.rest.filters import (
    EXACT,
    Filters,
    ObjectIdFilter,
    Rows,
    TrueOrFalseFilter,
    of_the_merchant,
)
from core.rest.lists import ListSpec
from core.rest.parts import Parts
from events.filters import EventFilters, EventTypeFilter
from events.models import Event
from webhooks.models import UNSUCCESSFUL, Delivery

DELIVERY_STATUS = Choices(
    "WebhookDeliveryStatus",
    {
        Delivery.Status.PENDING: "The attempt was not made yet.",
        Delivery.Status.SUCCEEDED: "Your endpoint answered 2xx in time.",
        Delivery.Status.FAILED: (
            "Your endpoint could not be reached, or did not answer 2xx in time."
        ),
        Delivery.Status.CANCELED: "The attempt will not be made.",
    },
)
TRIGGER = Choices(
    "WebhookDeliveryTrigger",
    {
        Delivery.Trigger.AUTOMATIC: "The event was recorded, or the attempt before failed.",
        Delivery.Trigger.RESEND: "You asked for this event again.",
        Delivery.Trigger.REPLAY: "You asked for what the endpoint had missed.",
    },
)


def _delivered(rows: Rows, _name: str, wanted: bool) -> Rows:
    """`delivery_success=false`: a delivery of the event is pending or was missed."""
    owed = Delivery.objects.filter(Q(status="pending") | Q(is_missed=True), event=OuterRef("id"))
    return rows.exclude(Exists(owed)) if wanted else rows.filter(Exists(owed))


class DeliveredEventFilters(EventFilters):
    delivery_success = TrueOrFalseFilter(method=_delivered)

    def parts(self, rows: Rows) -> Parts | None:
        # Few events were not delivered, and their deliveries find them.
        is_for_few = self.form.cleaned_data.get("delivery_success") is False
        return None if is_for_few else super().parts(rows)


class DeliveryFilters(Filters):
    meanings = {
        "status": "How the attempt went.",
        "event_type": "The event's type, or a family of types: `payment_intent.*`.",
        "event": "The id of the event.",
        "trigger": "Why the attempt is made.",
    }
    choices = {"status": DELIVERY_STATUS, "trigger": TRIGGER}

    event_type = EventTypeFilter(lookup_expr="in")
    event = ObjectIdFilter(method=of_the_merchant(Event.objects.all(), "event"))

    class Meta(Filters.Meta):
        model = Delivery
        fields = {"status": ["in"], "event_type": EXACT, "event": EXACT, "trigger": EXACT}

    def parts(self, _rows: Rows) -> Parts | None:
        statuses = self.form.cleaned_data.get("status[]", ())
        if len(statuses) > 1 and {*statuses} <= {*UNSUCCESSFUL}:
            return Parts("status", statuses)
        return None


EVENTS = ListSpec(filters=DeliveredEventFilters)
ENDPOINTS = ListSpec()
# Ids of deliveries begin with their time, so the list needs no other column for its order.
DELIVERIES = ListSpec(filters=DeliveryFilters, sort_keys={"created": "id"})
