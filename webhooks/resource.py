"""Webhook endpoints and events as resources."""

from core.rest.expansion import ObjectKind
from core.rest.resources import Resource
from webhooks import render, schema
from webhooks.models import Endpoint

SCOPE = "webhook_endpoints"
ENDPOINTS = Resource(
    path="webhook_endpoints",
    scope=SCOPE,
    tag=("Webhook endpoints", "Where events are sent."),
    schemas=schema.SCHEMAS,
    kinds={
        "webhook_endpoint": ObjectKind(
            prefix="we", rows=Endpoint.objects.all(), show=render.webhook_endpoint, scope=SCOPE
        ),
    },
)
EVENTS = Resource(
    path="events",
    scope="events",
    tag=("Events", "What happened, and its deliveries."),
)
