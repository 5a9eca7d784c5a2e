"""The API's door to payouts: read the body, make one domain call, render the payout."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payouts import cancellations, creation, render, schema
from payouts.forms import CancelPayoutForm, CreatePayoutForm, UpdatePayoutForm
from payouts.models import Payout
from payouts.resource import PAYOUTS


class PayoutViewSet(ApiViewSet):
    """Payouts (contract 3)."""

    operations = schema.PAYOUTS
    scope = "payouts"
    shows = ("payout",)
    lists = {"list": PAYOUTS}

    def list(self, request: Request) -> Response:
        page = self.page_of(Payout.objects.for_merchant(self.merchant))
        shown = [render.payout(payout) for payout in page]
        return self.get_paginated_response(self.expanded(shown))

    def create(self, request: Request) -> Response:
        draft = CreatePayoutForm.read(self.body)
        return self._shown(creation.create(self.merchant, draft))

    def retrieve(self, request: Request, payout_id: str) -> Response:
        return self._shown(Payout.objects.for_merchant(self.merchant).find(payout_id))

    def update(self, request: Request, payout_id: str) -> Response:
        changes = UpdatePayoutForm.read(self.body)
        return self._shown(creation.update(self.merchant, payout_id, changes))

    def cancel(self, request: Request, payout_id: str) -> Response:
        CancelPayoutForm.read(self.body)
        return self._shown(cancellations.cancel(self.merchant, payout_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)

    def _shown(self, payout: Payout) -> Response:
        [shown] = self.expanded([render.payout(payout)])
        return Response(shown)


urlpatterns = [
    path("payouts", PayoutViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "payouts/<str:payout_id>",
        PayoutViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("payouts/<str:payout_id>/cancel", PayoutViewSet.as_view({"post": "cancel"})),
]
