from django.urls import path

from webhooks.views import EventViewSet

urlpatterns = [
    path("events", EventViewSet.as_view({"get": "list"})),
    path("events/<str:event_id>", EventViewSet.as_view({"get": "retrieve"})),
]
