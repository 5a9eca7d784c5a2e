"""Endpoints and deliveries as the API shows them (contract 2)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from core import clock
from webhooks.models import Delivery, Endpoint, SigningSecret


def webhook_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """Return an endpoint, without its secret."""
    [shown] = webhook_endpoints([endpoint])
    return shown


def webhook_endpoints(endpoints: Sequence[Endpoint]) -> list[dict[str, Any]]:
    """Return endpoints, without their secrets; one query for all."""
    rolled = SigningSecret.objects.filter(endpoint__in=endpoints, expires_at__gt=clock.now())
    ends = dict(rolled.order_by("expires_at").values_list("endpoint_id", "expires_at"))
    return [_endpoint(endpoint, ends.get(endpoint.id)) for endpoint in endpoints]


def _endpoint(endpoint: Endpoint, previous_secret_expires_at: datetime | None) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "object": "webhook_endpoint",
        "url": endpoint.url,
        "enabled_events": endpoint.enabled_events,
        "status": endpoint.status,
        "description": endpoint.description,
        "metadata": endpoint.metadata,
        "api_version": endpoint.api_version,
        "previous_secret_expires_at": _unix(previous_secret_expires_at),
        "created": clock.unix(endpoint.created_at),
        "livemode": settings.LIVEMODE,
    }


def webhook_delivery(delivery: Delivery) -> dict[str, Any]:
    """Return one attempt to deliver an event, made or to come."""
    return {
        "id": delivery.id,
        "object": "webhook_delivery",
        "event": delivery.event_id,
        "event_type": delivery.event_type,
        "webhook_endpoint": delivery.endpoint_id,
        "url": delivery.url,
        "attempt": delivery.attempt,
        "status": delivery.status,
        "trigger": delivery.trigger,
        "delay": delivery.delay_seconds,
        "duration_ms": delivery.duration_ms,
        "scheduled_at": clock.unix(delivery.scheduled_at),
        "attempted_at": _unix(delivery.attempted_at),
        "next_attempt_at": _unix(delivery.next_attempt_at),
        "response_status": delivery.response_status,
        "response_excerpt": delivery.response_excerpt,
        "error": delivery.error,
        "created": clock.unix(delivery.created_at),
        "livemode": settings.LIVEMODE,
    }


def _unix(moment: datetime | None) -> int | None:
    return None if moment is None else clock.unix(moment)
