"""Webhook endpoints and events as resources."""

from core.rest.resources import Resource
from webhooks import schema

ENDPOINTS = Resource(
    path="webhook_endpoints",
    scope="webhook_endpoints",
    tag=("Webhook endpoints", "Where events are sent."),
    schemas=schema.SCHEMAS,
)
EVENTS = Resource(
    path="events",
    scope="events",
    tag=("Events", "What happened, and its deliveries."),
)
