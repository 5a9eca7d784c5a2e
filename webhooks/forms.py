"""The bodies of /v1's webhook endpoints, declared (contract 3)."""

from functools import cache
from typing import Any

from rest_framework import serializers

from core import urls
from core.rest.components import Choices, Shape
from core.rest.fields import Address, Boolean, Integer, Metadata, Name, Text
from core.rest.forms import Form
from events import types

ID_MAX = 255
WEEK_SECONDS = 604_800
UNIX_MAX = 253_402_300_799  # The last second that a date can name.


@cache
def subscribable() -> Choices:
    """Return what an endpoint can subscribe to."""
    every = {types.ALL: "Every type, those of later versions too. It stands alone."}
    return Choices("SubscribedEventType", {**types.meanings(), **every})


class EventTypes(serializers.Field):
    """Event types, each once, or the single element `*`."""

    default_error_messages = {
        "parameter_invalid": "Must be an array of event types, or of the single element *.",
        "empty": "Name at least one event type, or the single element *.",
        "unknown": "There is no such event type.",
        "repeated": "The event type is named twice.",
        "not_alone": "The element * stands for all types and must be the only one.",
    }

    @property
    def advice(self) -> str:
        return f"The types are {', '.join(types.names())}; {types.ALL} alone stands for all."

    @property
    def shape(self) -> Shape:
        return {
            "type": "array",
            "items": subscribable().closed(),
            "minItems": 1,
            "uniqueItems": True,
        }

    def to_internal_value(self, data: Any) -> list[str]:
        if not isinstance(data, list):
            self.fail("parameter_invalid")
        if not data:
            self.fail("empty")
        for index, name in enumerate(data):
            if problem := self._problem(name, data, index):
                message = self.error_messages[problem]
                raise serializers.ValidationError({str(index): [message]}, code="parameter_invalid")
        return [str(name) for name in data]

    def _problem(self, name: Any, names: list[Any], index: int) -> str | None:
        if name == types.ALL:
            return "not_alone" if len(names) > 1 else None
        if name not in types.names():
            return "unknown"
        return "repeated" if name in names[:index] else None


_URL = (
    "Where events are sent: an https address on a registered website or under a registered "
    f"callback URL. Up to {urls.MAX_LENGTH} characters."
)
_ENABLED_EVENTS = "The event types to send, each once, or the single element `*` for all."
_DESCRIPTION = "Your own description, on one line. Up to 1000 characters."


class CreateEndpointForm(Form):
    schema_name = "WebhookEndpointCreateParams"

    url = Address(help_text=_URL)
    enabled_events = EventTypes(help_text=_ENABLED_EVENTS)
    description = Name(max_length=1000, required=False, help_text=_DESCRIPTION)
    metadata = Metadata(required=False)


class UpdateEndpointForm(Form):
    schema_name = "WebhookEndpointUpdateParams"
    schema_description = "Fields that are absent stay as they are."
    null_clears = True
    never_null = ("url", "enabled_events", "disabled")

    url = Address(required=False, help_text=_URL)
    enabled_events = EventTypes(required=False, help_text=_ENABLED_EVENTS)
    description = Name(max_length=1000, required=False, help_text=_DESCRIPTION)
    metadata = Metadata(required=False)
    disabled = Boolean(
        required=False,
        help_text="True stops sending and cancels pending deliveries; false enables the endpoint.",
    )
    replay_missed = Boolean(
        required=False,
        help_text=(
            "True sends the events that the endpoint missed. Not together with `disabled: true`. "
            "Default: false; null means the same."
        ),
    )

    def validate(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Refuse null for a field that may not be empty, and a replay together with `disabled`."""
        for name in self.never_null:
            if name in changes and changes[name] is None:
                raise serializers.ValidationError({name: ["May not be cleared."]}, code="null")
        if changes.get("disabled") and changes.get("replay_missed"):
            message = "Nothing is sent to an endpoint that is being disabled."
            raise serializers.ValidationError(
                {"replay_missed": [message]}, code="parameter_invalid"
            )
        return changes


class RollSecretForm(Form):
    schema_name = "WebhookEndpointRollSecretParams"

    previous_secret_expires_in = Integer(
        minimum=0,
        maximum=WEEK_SECONDS,
        required=False,
        help_text=(
            "For how many seconds the old secret signs too, up to a week. Default: 86400, a day."
        ),
    )


class ReplayForm(Form):
    schema_name = "WebhookEndpointReplayParams"

    since = Integer(
        minimum=0,
        maximum=UNIX_MAX,
        required=False,
        help_text=(
            "Send what was missed from this time on, in Unix seconds. Default: since the first "
            "missed event."
        ),
    )


class ResendForm(Form):
    schema_name = "EventResendParams"

    webhook_endpoint = Text(
        max_length=ID_MAX,
        required=False,
        help_text=(
            "The id of the endpoint to send to. Default: all endpoints that subscribe to the type."
        ),
    )
