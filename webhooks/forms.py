"""The bodies of /v1's webhook endpoints, declared (contract 3)."""

from typing import Any

from rest_framework import serializers

from core.rest.fields import Boolean, Integer, Metadata, Name, Shape, Text
from core.rest.forms import Form
from events import types

ID_MAX = 255
URL_MAX = 100_000  # Longer than any that is allowed: the rule about addresses refuses it by name.
WEEK_SECONDS = 604_800
UNIX_MAX = 253_402_300_799  # The last second that a date can name.


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
        several = {"type": "array", "items": {"enum": list(types.names())}}
        return {
            "anyOf": [{**several, "minItems": 1, "uniqueItems": True}, {"const": [types.ALL]}],
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


class CreateEndpointForm(Form):
    url = Text(max_length=URL_MAX)
    enabled_events = EventTypes()
    description = Name(max_length=1000, required=False)
    metadata = Metadata(required=False)


class UpdateEndpointForm(Form):
    null_clears = True

    url = Text(max_length=URL_MAX, required=False)
    enabled_events = EventTypes(required=False)
    description = Name(max_length=1000, required=False)
    metadata = Metadata(required=False)
    disabled = Boolean(required=False)
    replay_missed = Boolean(required=False)

    def validate(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Refuse null for a field that may not be empty, and a replay together with `disabled`."""
        for name in ("url", "enabled_events", "disabled"):
            if name in changes and changes[name] is None:
                raise serializers.ValidationError({name: ["May not be cleared."]}, code="null")
        if changes.get("disabled") and changes.get("replay_missed"):
            message = "Nothing is sent to an endpoint that is being disabled."
            raise serializers.ValidationError(
                {"replay_missed": [message]}, code="parameter_invalid"
            )
        return changes


class RollSecretForm(Form):
    previous_secret_expires_in = Integer(minimum=0, maximum=WEEK_SECONDS, required=False)


class ReplayForm(Form):
    since = Integer(minimum=0, maximum=UNIX_MAX, required=False)


class ResendForm(Form):
    webhook_endpoint = Text(max_length=ID_MAX, required=False)
