from django.urls import path

from payments.charging.views import PaymentIntentViewSet

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
