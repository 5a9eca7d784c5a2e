from rest_framework.request import Request
from rest_framework.response import Response

from core.rest import paging
from events.models import Event
from merchants.api import ApiViewSet


class EventViewSet(ApiViewSet):
    """What happened, as it was recorded: the stored bytes are the answer."""

    scope = "events"
    arguments = ("limit", "starting_after")

    def list(self, request: Request) -> Response:
        events = Event.objects.for_merchant(self.merchant)
        page = paging.page(events, self.query, url=request.path)
        return Response(page.envelope([bytes(event.body) for event in page.rows]))

    def retrieve(self, request: Request, event_id: str) -> Response:
        event = Event.objects.for_merchant(self.merchant).find(event_id)
        return Response(bytes(event.body))
