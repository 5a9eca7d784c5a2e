from django.urls import path

from webhooks.views import EndpointViewSet, EventViewSet

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
