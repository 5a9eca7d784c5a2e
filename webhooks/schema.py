"""Schemas of endpoints, deliveries and events, and of operations on them (docs/openapi.json)."""

from collections.abc import Mapping
from typing import cast

from django.utils.functional import SimpleLazyObject

from core.rest import schema
from core.rest.components import Choices, Shape, named
from core.rest.schema import Operation, Schemas, identifier, instant, nullable, ref, text
from events import types
from events.types import Aggregate
from webhooks.destinations import WebhookUrlNotAllowed
from webhooks.endpoints import EndpointLimitReached
from webhooks.filters import DELIVERY_STATUS, TRIGGER
from webhooks.forms import (
    CreateEndpointForm,
    ReplayForm,
    ResendForm,
    RollSecretForm,
    UpdateEndpointForm,
    subscribable,
)
from webhooks.models import Endpoint
from webhooks.refusals import EndpointUnexpectedState

SECRET = {
    "type": "string",
    "pattern": "^whsec_",
    "description": "The secret that deliveries are signed with. Shown in this answer only.",
}
_STATUS = Choices(
    "WebhookEndpointStatus",
    {
        Endpoint.Status.ENABLED: "Events are sent.",
        Endpoint.Status.DISABLED: "You have stopped sending.",
        Endpoint.Status.FAILING: (
            "Ten attempts in a row failed: nothing is sent until you enable it."
        ),
    },
)
_ERROR = Choices(
    "WebhookDeliveryError",
    {
        "blocked_address": "The name leads to an address that is not public.",
        "dns_error": "The name of the host was not found.",
        "connection_error": "No connection could be opened, or it broke.",
        "tls_error": "The certificate is not valid, or TLS failed.",
        "timeout": "There was no answer within 10 seconds.",
        "http_status": "The answer was not 2xx.",
    },
)


# --- Endpoints and deliveries -----------------------------------------------------------------


def _endpoint() -> Schemas:
    return {
        "url": text("Where events are sent."),
        "enabled_events": schema.array(
            subscribable().open("An event type, or `*` for all."),
            "The event types that are sent, or the single element `*` for all.",
        ),
        "status": _STATUS.open("Whether events are sent."),
        "description": nullable(text("Your own description; null if there is none.")),
        "metadata": schema.METADATA,
        "api_version": text("The API version that its events are written in."),
        "previous_secret_expires_at": nullable(
            instant("Until when the old secret signs too; null if there is no old one.")
        ),
    }


def _delivery() -> Schemas:
    return {
        "event": identifier("evt", "The event that is sent."),
        "event_type": _event_type().open("The event's type."),
        "webhook_endpoint": identifier("we", "The endpoint that it is sent to."),
        "url": text("The address that it is sent to."),
        "attempt": {**schema.integer("The number of the attempt, 1 to 10.", minimum=1),
                    "maximum": 10},
        "status": DELIVERY_STATUS.open("How the attempt went."),
        "trigger": TRIGGER.open("Why the attempt is made."),
        "delay": schema.integer("How long the schedule waits before this attempt, in seconds."),
        "duration_ms": nullable(
            schema.integer("How long your endpoint took, in milliseconds; null before the attempt.")
        ),
        "scheduled_at": instant("When the attempt is due."),
        "attempted_at": nullable(instant("When the attempt was made; null before.")),
        "next_attempt_at": nullable(
            instant("When the next attempt is due; null if there will be none.")
        ),
        "response_status": nullable(
            schema.integer("Your endpoint's HTTP status; null without an answer.", minimum=100)
        ),
        "response_excerpt": nullable(
            {
                **text(
                    "The beginning of your endpoint's answer, masked, or why it could not be read; "
                    "null without an answer."
                ),
                "maxLength": 512,
            }
        ),
        "error": nullable(_ERROR.open("Why the attempt failed; null if it did not.")),
    }  # fmt: skip


# --- Events -----------------------------------------------------------------------------------


def _event_type() -> Choices:
    return Choices("EventType", types.meanings())


def event_name(about: str) -> str:
    """Return the name of the schema for events about an object, such as `PaymentIntentEvent`."""
    return "".join(word.title() for word in about.replace(".", "_").split("_")) + "Event"


def _event(about: Aggregate) -> Shape:
    name = event_name(about.name)
    whole = [ref(one) for one in about.schemas]
    after = "The object, as it was after the change. It is never expanded."
    data: Schemas = {
        "object": (
            {**whole[0], "description": after}
            if len(whole) == 1
            else {"anyOf": whole, "description": after}
        ),
        "previous_attributes": {
            "type": "object",
            "description": (
                "The fields that changed, with their earlier values; empty if the object is new. "
                "A field that was absent before is null."
            ),
        },
    }
    return schema.resource(
        "event",
        "evt",
        f"A change of a `{about.name}`. It is recorded once, and never changes.",
        {
            "type": Choices(
                f"{name}Type", {one: about.meanings[one].cause for one in about.types}
            ).open("What happened."),
            "merchant_id": identifier("mer", "Your account."),
            "api_version": text("The API version that `data` is written in."),
            "aggregate_type": schema.kind(about.name),
            "aggregate_id": text("The id of the changed object."),
            "sequence": schema.integer(
                "The number of the change, counted for each object from 1.", minimum=1
            ),
            "request_id": identifier("req", "The request that caused the change."),
            "data": named(f"{name}Data", schema.record("The changed object.", data)),
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
                "id": identifier("we", "The id of the deleted endpoint."),
                "object": schema.kind("webhook_endpoint"),
                "deleted": {"const": True, "description": "Always true: it was deleted."},
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
            "description": "A change that was recorded; `aggregate_type` says of which object.",
            "oneOf": [ref(name) for name in by_object.values()],
            "discriminator": {
                "propertyName": "aggregate_type",
                "mapping": {about: ref(name)["$ref"] for about, name in by_object.items()},
            },
        },
    }


# Made when it is read: all rooms have registered their events then.
SCHEMAS = cast(Schemas, SimpleLazyObject(_schemas))


# --- Actions ----------------------------------------------------------------------------------

_WITH_SECRET = ref("WebhookEndpointWithSecret")
_DELIVERIES = schema.list_of("WebhookDeliveryList", ref("WebhookDelivery"))

ENDPOINTS = {
    "list": Operation(
        "List webhook endpoints",
        schema.list_of("WebhookEndpointList", ref("WebhookEndpoint")),
        description="Your endpoints, the newest first. There are up to 16.",
    ),
    "create": Operation(
        "Register a webhook endpoint",
        _WITH_SECRET,
        CreateEndpointForm,
        description="The `secret` is in this answer only.",
        refuses=(WebhookUrlNotAllowed, EndpointLimitReached),
    ),
    "retrieve": Operation(
        "Read a webhook endpoint",
        ref("WebhookEndpoint"),
        description="The endpoint as it is now, without its secret.",
    ),
    "update": Operation(
        "Change a webhook endpoint",
        ref("WebhookEndpoint"),
        UpdateEndpointForm,
        description=(
            "`disabled: false` enables it again; with `replay_missed: true` what it missed is sent."
        ),
        refuses=(WebhookUrlNotAllowed, EndpointUnexpectedState),
    ),
    "destroy": Operation(
        "Delete a webhook endpoint",
        ref("DeletedWebhookEndpoint"),
        description="Its pending deliveries are canceled. It cannot be undone.",
    ),
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
        description=(
            "For each object, every event from the first missed one on is sent in order. The "
            "answer comes before the sending."
        ),
        refuses=(EndpointUnexpectedState,),
    ),
    "deliveries": Operation(
        "List an endpoint's deliveries",
        _DELIVERIES,
        description="The attempts to send to the endpoint, the next ones among them.",
    ),
}
EVENTS = {
    "list": Operation(
        "List events",
        schema.list_of("EventList", ref("Event")),
        description="Without the events of objects that the key may not read.",
    ),
    "retrieve": Operation(
        "Read an event",
        ref("Event"),
        description="One of an object that the key may not read is `permission_denied`.",
    ),
    "deliveries": Operation(
        "List an event's deliveries",
        _DELIVERIES,
        description="The attempts to send the event, to all endpoints.",
    ),
    "resend": Operation(
        "Deliver an event again",
        ref("Event"),
        ResendForm,
        description=(
            "One attempt, outside of the schedule; or at once, if the event is still owed to the "
            "endpoint, where an early attempt is none of the ten. The answer comes before the "
            "sending."
        ),
        refuses=(EndpointUnexpectedState,),
    ),
}


# --- Requests to your endpoint ----------------------------------------------------------------


_SIGNATURE = {
    "type": "string",
    "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$",
}
HEADERS = {
    "PF-Signature": {
        "in": "header",
        "name": "PF-Signature",
        "required": True,
        "description": (
            "The time of the attempt, and a signature for each valid secret, the newest first: "
            "HMAC-SHA256 of `t.body` with the secret. Check it before you read the body."
        ),
        "schema": _SIGNATURE,
    },
    "PF-Event-Id": {
        "in": "header",
        "name": "PF-Event-Id",
        "required": True,
        "description": "The event's id. It is the same in each attempt: store it, to act once.",
        "schema": identifier("evt"),
    },
    "PF-Delivery-Id": {
        "in": "header",
        "name": "PF-Delivery-Id",
        "required": True,
        "description": "The id of this attempt.",
        "schema": identifier("whd"),
    },
}


def _delivered(event_type: str, example: Shape | None) -> Shape:
    of_this_type = {
        **ref(event_name(types.object_of(event_type))),
        "properties": {"type": {"const": event_type}},
    }
    body = {"schema": of_this_type, **({"example": example} if example else {})}
    return {
        "operationId": "on_" + event_type.replace(".", "_"),
        "summary": event_type,
        "description": (
            f"{types.meanings()[event_type]} Answer 2xx within 10 seconds. Otherwise it is sent "
            "again, ten times in all, up to 92 hours and 36 minutes later."
        ),
        "tags": ["Events"],
        # Your endpoint knows the service by the signature, and by no key.
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS],
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": {"2XX": {"description": "Received."}},
    }


def webhooks(examples: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the requests to endpoints, by the type of their event.

    :param examples: recorded events, by their types.
    """
    return {name: {"post": _delivered(name, examples.get(name))} for name in types.names()}
