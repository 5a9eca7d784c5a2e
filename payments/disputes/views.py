"""The API's door to disputes: read the body, make one domain call, render the dispute."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payments.disputes import disputes, render, schema
from payments.disputes.forms import CloseDisputeForm, UpdateDisputeForm
from payments.disputes.models import Dispute
from payments.disputes.resource import DISPUTES, SCOPE


class DisputeViewSet(ApiViewSet):
    """Disputes (contract 3)."""

    operations = schema.DISPUTES
    scope = SCOPE
    shows = ("dispute",)
    lists = {"list": DISPUTES}

    def list(self, request: Request) -> Response:
        page = self.page_of(render.DISPUTES.for_merchant(self.merchant))
        return self.get_paginated_response(self.expanded([render.dispute(row) for row in page]))

    def retrieve(self, request: Request, dispute_id: str) -> Response:
        return self._shown(render.DISPUTES.for_merchant(self.merchant).find(dispute_id))

    def update(self, request: Request, dispute_id: str) -> Response:
        changes = UpdateDisputeForm.read(self.body)
        return self._shown(disputes.update(self.merchant, dispute_id, changes))

    def close(self, request: Request, dispute_id: str) -> Response:
        CloseDisputeForm.read(self.body)
        return self._shown(disputes.close(self.merchant, dispute_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)

    def _shown(self, dispute: Dispute) -> Response:
        [shown] = self.expanded([render.dispute(dispute)])
        return Response(shown)


urlpatterns = [
    path("disputes", DisputeViewSet.as_view({"get": "list"})),
    path(
        "disputes/<str:dispute_id>", DisputeViewSet.as_view({"get": "retrieve", "post": "update"})
    ),
    path("disputes/<str:dispute_id>/close", DisputeViewSet.as_view({"post": "close"})),
]
