"""Schemas of endpoints, deliveries and events, and of operations on them (docs/openapi.json)."""

from typing import cast

from django.utils.functional import SimpleLazyObject

from core.rest import schema
from core.rest.fields import Shape
from core.rest.schema import Operation, Schemas, identifier, instant, nullable, ref, text
from events import types
from events.types import Aggregate
from webhooks.delivery.messages import ERRORS
from webhooks.destinations import WebhookUrlNotAllowed
from webhooks.endpoints import EndpointLimitReached
from webhooks.forms import (
    CreateEndpointForm,
    ReplayForm,
    ResendForm,
    RollSecretForm,
    UpdateEndpointForm,
)
from webhooks.models import Delivery, Endpoint
from webhooks.refusals import EndpointUnexpectedState

SECRET = {
    "type": "string",
    "pattern": "^whsec_",
    "description": "What deliveries are signed with. Shown in this answer only.",
}


# --- Endpoints and deliveries -----------------------------------------------------------------


def _endpoint() -> Schemas:
    return {
        "url": text("Where events are sent."),
        "enabled_events": schema.array(
            {"enum": [*types.names(), types.ALL]}, "Event types, or the single element `*` for all."
        ),
        "status": schema.one_of(
            Endpoint.Status.values,
            "`failing` after ten failed attempts in a row: nothing is sent until you enable it.",
        ),
        "description": nullable(text("Your own words.")),
        "metadata": schema.METADATA,
        "api_version": text("The version that its events are written in."),
        "previous_secret_expires_at": nullable(
            instant("Until when deliveries are signed with the secret before, too.")
        ),
    }


def _delivery() -> Schemas:
    return {
        "event": identifier("evt"),
        "event_type": schema.one_of(types.names(), "The event's type."),
        "webhook_endpoint": identifier("we"),
        "url": text("Where it was sent."),
        "attempt": {**schema.integer("1 to 10.", minimum=1), "maximum": 10},
        "status": schema.one_of(Delivery.Status.values, "`pending` until it was made."),
        "trigger": schema.one_of(Delivery.Trigger.values, "Why it is made."),
        "delay": schema.integer("Seconds of the schedule before this attempt."),
        "duration_ms": nullable(schema.integer("How long your endpoint took, in milliseconds.")),
        "scheduled_at": instant("When it is due."),
        "attempted_at": nullable(instant("When it was made.")),
        "next_attempt_at": nullable(instant("When the next attempt is due.")),
        "response_status": nullable(schema.integer("Your endpoint's HTTP status.", minimum=100)),
        "response_excerpt": nullable(
            {
                **text("The first of your endpoint's answer, masked; or why it could not be read."),
                "maxLength": 512,
            }
        ),
        "error": nullable(schema.one_of(ERRORS, "Why it failed.")),
    }


# --- Events -----------------------------------------------------------------------------------


def event_name(about: str) -> str:
    """Return the name of the schema for events about an object, such as `PaymentIntentEvent`."""
    return "".join(word.title() for word in about.replace(".", "_").split("_")) + "Event"


def _event(about: Aggregate) -> Shape:
    data: Schemas = {
        "object": {
            "anyOf": [ref(name) for name in about.schemas],
            "description": "It, as it was after the change.",
        },
        "previous_attributes": {
            "type": "object",
            "description": "What changed, with the earlier values.",
        },
    }
    return schema.resource(
        "event",
        "evt",
        "A change that was recorded. It never changes again.",
        {
            "type": schema.one_of(about.types, "What happened."),
            "merchant_id": identifier("mer"),
            "api_version": text("The version that `data` is written in."),
            "aggregate_type": {"const": about.name, "description": "What the changed object is."},
            "aggregate_id": text("The changed object's id."),
            "sequence": schema.integer("Counts the changes of one object, from 1.", minimum=1),
            "request_id": identifier("req", "The request that caused the change."),
            "data": schema.record("What changed.", data),
        },
    )


def _schemas() -> Schemas:
    by_object = {name: event_name(name) for name in types.AGGREGATES}
    return {
        "WebhookEndpoint": schema.resource(
            "webhook_endpoint", "we", "An address that your events are sent to.", _endpoint()
        ),
        "WebhookEndpointWithSecret": schema.resource(
            "webhook_endpoint",
            "we",
            "An endpoint together with its signing secret, which is shown this once.",
            {**_endpoint(), "secret": SECRET},
        ),
        "DeletedWebhookEndpoint": schema.record(
            "What is left of an endpoint.",
            {
                "id": identifier("we"),
                "object": {"const": "webhook_endpoint"},
                "deleted": {"const": True},
            },
        ),
        "WebhookDelivery": schema.resource(
            "webhook_delivery",
            "whd",
            "One attempt to deliver one event to one endpoint.",
            _delivery(),
        ),
        **{event_name(about.name): _event(about) for about in types.AGGREGATES.values()},
        "Event": {
            "description": "A change that was recorded; which object it has depends on its type.",
            "oneOf": [ref(name) for name in by_object.values()],
            "discriminator": {
                "propertyName": "aggregate_type",
                "mapping": {about: ref(name)["$ref"] for about, name in by_object.items()},
            },
        },
        "ApiObject": {
            "type": "object",
            "description": "An object of a kind that the API does not have yet.",
            "properties": {"id": {"type": "string"}, "object": {"type": "string"}},
            "required": ["id", "object"],
        },
    }


# Made when it is read: all rooms have registered their events then.
SCHEMAS = cast(Schemas, SimpleLazyObject(_schemas))


# --- Actions ----------------------------------------------------------------------------------

_WITH_SECRET = ref("WebhookEndpointWithSecret")
_DELIVERIES = schema.list_of(ref("WebhookDelivery"))

ENDPOINTS = {
    "list": Operation("List webhook endpoints", schema.list_of(ref("WebhookEndpoint"))),
    "create": Operation(
        "Register a webhook endpoint",
        _WITH_SECRET,
        CreateEndpointForm,
        description="The `secret` is in this answer only.",
        refuses=(WebhookUrlNotAllowed, EndpointLimitReached),
    ),
    "retrieve": Operation("Read a webhook endpoint", ref("WebhookEndpoint")),
    "update": Operation(
        "Change a webhook endpoint",
        ref("WebhookEndpoint"),
        UpdateEndpointForm,
        description=(
            "`disabled: false` enables it again; with `replay_missed: true` what it missed is sent."
        ),
        refuses=(WebhookUrlNotAllowed, EndpointUnexpectedState),
    ),
    "destroy": Operation("Delete a webhook endpoint", ref("DeletedWebhookEndpoint")),
    "roll_secret": Operation(
        "Roll a signing secret",
        _WITH_SECRET,
        RollSecretForm,
        description="Both secrets sign for as long as you say, a day unless you say otherwise.",
    ),
    "replay": Operation(
        "Send what an endpoint missed",
        ref("WebhookEndpoint"),
        ReplayForm,
        refuses=(EndpointUnexpectedState,),
    ),
    "deliveries": Operation("List an endpoint's deliveries", _DELIVERIES),
}
EVENTS = {
    "list": Operation(
        "List events",
        schema.list_of(ref("Event")),
        description="Without the events of objects that the key may not read.",
    ),
    "retrieve": Operation(
        "Read an event",
        ref("Event"),
        description="One of an object that the key may not read is `permission_denied`.",
    ),
    "deliveries": Operation("List an event's deliveries", _DELIVERIES),
    "resend": Operation(
        "Deliver an event again",
        ref("Event"),
        ResendForm,
        refuses=(EndpointUnexpectedState,),
    ),
}


# --- Requests to your endpoint ----------------------------------------------------------------


def _header(name: str, shape: Shape) -> Shape:
    return {"in": "header", "name": name, "required": True, "schema": shape}


_SIGNATURE = {
    "type": "string",
    "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$",
    "description": "The time and the signatures of `t.body`: HMAC-SHA256 with your secret.",
}


def _delivered(event_type: str) -> Shape:
    of_any_type = ref(event_name(types.object_of(event_type)))
    body = {"allOf": [of_any_type, {"properties": {"type": {"const": event_type}}}]}
    return {
        "summary": event_type,
        "tags": ["Events"],
        "parameters": [
            _header("PF-Signature", _SIGNATURE),
            _header("PF-Event-Id", identifier("evt")),
            _header("PF-Delivery-Id", identifier("whd")),
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "Received. Anything else, or 10 seconds, and it comes again."}
        },
    }


def webhooks() -> dict[str, Shape]:
    """Return the requests to endpoints, by the type of their event."""
    return {event_type: {"post": _delivered(event_type)} for event_type in types.names()}
