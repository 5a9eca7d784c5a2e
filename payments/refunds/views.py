"""The API's door to refunds: read the body, make one domain call, render the refund."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payments.refunds import cancellations, recovery, refunds, render, schema
from payments.refunds.forms import CancelRefundForm, CreateRefundForm, UpdateRefundForm
from payments.refunds.models import Refund
from payments.refunds.resource import REFUNDS


class RefundViewSet(ApiViewSet):
    """Refunds (spec: Endpoints)."""

    operations = schema.REFUNDS
    scope = "refunds"
    shows = ("refund",)
    lists = {"list": REFUNDS}

    def list(self, request: Request) -> Response:
        page = self.page_of(Refund.objects.for_merchant(self.merchant))
        shown = [render.refund(refund) for refund in page]
        return self.get_paginated_response(self.expanded(shown))

    def create(self, request: Request) -> Response:
        draft = CreateRefundForm.read(self.body)
        return self._shown(refunds.create(self.merchant, draft))

    def retrieve(self, request: Request, refund_id: str) -> Response:
        return self._shown(Refund.objects.for_merchant(self.merchant).find(refund_id))

    def update(self, request: Request, refund_id: str) -> Response:
        changes = UpdateRefundForm.read(self.body)
        return self._shown(refunds.update(self.merchant, refund_id, changes))

    def cancel(self, request: Request, refund_id: str) -> Response:
        CancelRefundForm.read(self.body)
        return self._shown(cancellations.cancel(self.merchant, refund_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self._shown(recovery.resume(self.merchant, self.earlier))

    def _shown(self, refund: Refund) -> Response:
        [shown] = self.expanded([render.refund(refund)])
        return Response(shown)


urlpatterns = [
    path("refunds", RefundViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "refunds/<str:refund_id>",
        RefundViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("refunds/<str:refund_id>/cancel", RefundViewSet.as_view({"post": "cancel"})),
]
