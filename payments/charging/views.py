"""The API's door to payments: read the body, make one domain call, render the payment."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api import idempotency
from api.viewset import ApiViewSet
from payments.charging import cancellations, captures, confirmation, intents, recovery
from payments.charging.operations import PAYMENT_INTENTS
from payments.intents import render
from payments.intents.cards import cvc_of
from payments.intents.filters import PAYMENTS
from payments.intents.forms import (
    CancelIntentForm,
    CaptureIntentForm,
    ConfirmIntentForm,
    CreateIntentForm,
    UpdateIntentForm,
)
from payments.intents.models import PaymentIntent


class PaymentIntentViewSet(ApiViewSet):
    """Payments (spec: Endpoints)."""

    operations = PAYMENT_INTENTS
    scope = "payment_intents"
    shows = ("payment_intent",)
    lists = {"list": PAYMENTS}

    def list(self, request: Request) -> Response:
        page = self.page_of(PaymentIntent.objects.for_merchant(self.merchant))
        shown = [render.payment_intent(intent) for intent in page]
        return self.get_paginated_response(self.expanded(shown))

    def create(self, request: Request) -> Response:
        draft = CreateIntentForm.read(self.body)
        return self._shown(confirmation.create(self.merchant, draft))

    def retrieve(self, request: Request, intent_id: str) -> Response:
        return self._shown(intents.find(self.merchant, intent_id))

    def update(self, request: Request, intent_id: str) -> Response:
        changes = UpdateIntentForm.read(self.body)
        return self._shown(intents.update(self.merchant, intent_id, changes))

    def confirm(self, request: Request, intent_id: str) -> Response:
        given = ConfirmIntentForm.read(self.body)
        return self._shown(confirmation.confirm(self.merchant, intent_id, given))

    def capture(self, request: Request, intent_id: str) -> Response:
        asked = CaptureIntentForm.read(self.body)
        amount = asked.get("amount_to_capture")
        return self._shown(captures.capture(self.merchant, intent_id, amount))

    def cancel(self, request: Request, intent_id: str) -> Response:
        asked = CancelIntentForm.read(self.body)
        reason = asked.get("cancellation_reason")
        return self._shown(cancellations.cancel(self.merchant, intent_id, reason))

    def resume(self, request: Request, **kwargs: str) -> Response:
        cvc = cvc_of(self.body)
        return self._shown(recovery.resume(self.merchant, self.earlier, cvc=cvc))

    def _shown(self, intent: PaymentIntent) -> Response:
        if kept := idempotency.kept_answer():
            return Response(kept)
        [shown] = self.expanded([render.payment_intent(intent)])
        return Response(shown)


urlpatterns = [
    path("payment_intents", PaymentIntentViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "payment_intents/<str:intent_id>",
        PaymentIntentViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path(
        "payment_intents/<str:intent_id>/confirm",
        PaymentIntentViewSet.as_view({"post": "confirm"}),
    ),
    path(
        "payment_intents/<str:intent_id>/capture",
        PaymentIntentViewSet.as_view({"post": "capture"}),
    ),
    path(
        "payment_intents/<str:intent_id>/cancel",
        PaymentIntentViewSet.as_view({"post": "cancel"}),
    ),
]
