"""The API's door to topups: read the body, make one domain call, render the topup."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payouts.topups import cancellations, creation, render, schema
from payouts.topups.forms import CancelTopupForm, CreateTopupForm, UpdateTopupForm
from payouts.topups.models import Topup
from payouts.topups.resource import TOPUPS


class TopupViewSet(ApiViewSet):
    """Topups (contract 3)."""

    operations = schema.TOPUPS
    scope = "topups"
    shows = ("topup",)
    lists = {"list": TOPUPS}

    def list(self, request: Request) -> Response:
        page = self.page_of(Topup.objects.for_merchant(self.merchant))
        shown = [render.topup(topup) for topup in page]
        return self.get_paginated_response(self.expanded(shown))

    def create(self, request: Request) -> Response:
        draft = CreateTopupForm.read(self.body)
        return self._shown(creation.create(self.merchant, draft))

    def retrieve(self, request: Request, topup_id: str) -> Response:
        return self._shown(Topup.objects.for_merchant(self.merchant).find(topup_id))

    def update(self, request: Request, topup_id: str) -> Response:
        changes = UpdateTopupForm.read(self.body)
        return self._shown(creation.update(self.merchant, topup_id, changes))

    def cancel(self, request: Request, topup_id: str) -> Response:
        CancelTopupForm.read(self.body)
        return self._shown(cancellations.cancel(self.merchant, topup_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)

    def _shown(self, topup: Topup) -> Response:
        [shown] = self.expanded([render.topup(topup)])
        return Response(shown)


urlpatterns = [
    path("topups", TopupViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "topups/<str:topup_id>",
        TopupViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("topups/<str:topup_id>/cancel", TopupViewSet.as_view({"post": "cancel"})),
]
