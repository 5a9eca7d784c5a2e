from django.urls import path

from payments.views import CustomerViewSet, PaymentIntentViewSet, SearchViewSet

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
    path("customers", CustomerViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "customers/<str:customer_id>",
        CustomerViewSet.as_view({"get": "retrieve", "post": "update", "delete": "destroy"}),
    ),
    path("search", SearchViewSet.as_view({"get": "list"})),
]
