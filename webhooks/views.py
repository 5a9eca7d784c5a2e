import orjson
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api import idempotency
from api.authentication import may, require_scope
from api.viewset import ApiViewSet
from core.querysets import MerchantRows
from events import types
from events.models import Event
from webhooks import endpoints, filters, render, schema
from webhooks.endpoints import WithSecret
from webhooks.forms import (
    CreateEndpointForm,
    ReplayForm,
    ResendForm,
    RollSecretForm,
    UpdateEndpointForm,
)
from webhooks.models import Delivery, Endpoint


class DeliveryLists(ApiViewSet):
    """Lists of the attempts to deliver: those of an event, and those of an endpoint."""

    def _page_of_deliveries(self, rows: MerchantRows) -> Response:
        page = self.page_of(rows.for_merchant(self.merchant))
        return self.get_paginated_response([render.webhook_delivery(row) for row in page])


class EndpointViewSet(DeliveryLists):
    """The merchant's webhook endpoints (spec: WebhookEndpoint)."""

    operations = schema.ENDPOINTS
    scope = "webhook_endpoints"
    lists = {"list": filters.ENDPOINTS, "deliveries": filters.DELIVERIES}

    def list(self, request: Request) -> Response:
        page = self.page_of(endpoints.of(self.merchant))
        return self.get_paginated_response(render.webhook_endpoints(page))

    def create(self, request: Request) -> Response:
        draft = CreateEndpointForm.read(self.body)
        return _with_secret(endpoints.create(self.merchant, draft))

    def retrieve(self, request: Request, endpoint_id: str) -> Response:
        return _shown(endpoints.of(self.merchant).find(endpoint_id))

    def update(self, request: Request, endpoint_id: str) -> Response:
        changes = UpdateEndpointForm.read(self.body)
        return _shown(endpoints.update(self.merchant, endpoint_id, changes))

    def destroy(self, request: Request, endpoint_id: str) -> Response:
        endpoints.delete(self.merchant, endpoint_id)
        return Response({"id": endpoint_id, "object": "webhook_endpoint", "deleted": True})

    def roll_secret(self, request: Request, endpoint_id: str) -> Response:
        seconds = RollSecretForm.read(self.body).get("previous_secret_expires_in")
        rolled = endpoints.roll_secret(
            self.merchant, endpoint_id, previous_expires_in_seconds=seconds
        )
        return _with_secret(rolled)

    def replay(self, request: Request, endpoint_id: str) -> Response:
        since = ReplayForm.read(self.body).get("since")
        return _shown(endpoints.replay_missed(self.merchant, endpoint_id, since=since))

    def deliveries(self, request: Request, endpoint_id: str) -> Response:
        endpoint = endpoints.of(self.merchant).find(endpoint_id)
        return self._page_of_deliveries(Delivery.objects.filter(endpoint=endpoint))

    def resume(self, request: Request, **kwargs: str) -> Response:
        if self.action in ("create", "roll_secret"):
            earlier = idempotency.earlier_with_secret()
            return _with_secret(endpoints.with_secret(self.merchant, earlier.object_id))
        return self.retrieve(request, self.earlier.object_id)


class EventViewSet(DeliveryLists):
    """Events of the merchant's objects; the bytes of the answer are those that were recorded."""

    operations = schema.EVENTS
    scope = "events"
    lists = {"list": filters.EVENTS, "deliveries": filters.DELIVERIES}

    def list(self, request: Request) -> Response:
        readable = types.readable(lambda scope: may(self.key, scope, "GET"))
        rows = Event.objects.for_merchant(self.merchant)
        page = self.page_of(
            rows if len(readable) == len(types.names()) else rows.of_types(readable)
        )
        return self.get_paginated_response([bytes(event.body) for event in page])

    def retrieve(self, request: Request, event_id: str) -> Response:
        return _event(self._find(event_id))

    def deliveries(self, request: Request, event_id: str) -> Response:
        # Deliveries show the addresses of endpoints, which this key may not be allowed to read.
        require_scope(self.key, EndpointViewSet.scope, "GET")
        event = self._find(event_id)
        return self._page_of_deliveries(Delivery.objects.filter(event=event))

    def _find(self, event_id: str) -> Event:
        """Return an event of an object that the key may read."""
        event: Event = Event.objects.for_merchant(self.merchant).find(event_id)
        if scope := types.scope_of(event.type):
            require_scope(self.key, scope, "GET")
        return event

    def _claim(self, request: Request) -> None:
        # Before a replay, which shows the event.
        self._find(self.kwargs["event_id"])
        super()._claim(request)

    def resend(self, request: Request, event_id: str) -> Response:
        endpoint_id = ResendForm.read(self.body).get("webhook_endpoint")
        if endpoint_id:
            # A 404 would tell the key which endpoints there are.
            require_scope(self.key, EndpointViewSet.scope, "GET")
        return _event(endpoints.resend_event(self.merchant, event_id, endpoint_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)


def _shown(endpoint: Endpoint) -> Response:
    return Response(render.webhook_endpoint(endpoint))


def _with_secret(shown_once: WithSecret) -> Response:
    shown = render.webhook_endpoint(shown_once.endpoint)
    return Response({**shown, "secret": shown_once.secret})


def _event(event: Event) -> Response:
    return Response(orjson.Fragment(bytes(event.body)))


urlpatterns = [
    path("events", EventViewSet.as_view({"get": "list"})),
    path("events/<str:event_id>", EventViewSet.as_view({"get": "retrieve"})),
    path("events/<str:event_id>/deliveries", EventViewSet.as_view({"get": "deliveries"})),
    path("events/<str:event_id>/resend", EventViewSet.as_view({"post": "resend"})),
    path("webhook_endpoints", EndpointViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "webhook_endpoints/<str:endpoint_id>",
        EndpointViewSet.as_view({"get": "retrieve", "post": "update", "delete": "destroy"}),
    ),
    path(
        "webhook_endpoints/<str:endpoint_id>/roll_secret",
        EndpointViewSet.as_view({"post": "roll_secret"}),
    ),
    path("webhook_endpoints/<str:endpoint_id>/replay", EndpointViewSet.as_view({"post": "replay"})),
    path(
        "webhook_endpoints/<str:endpoint_id>/deliveries",
        EndpointViewSet.as_view({"get": "deliveries"}),
    ),
]
