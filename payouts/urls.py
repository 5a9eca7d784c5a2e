from django.urls import path

from payouts.views import PayoutViewSet

urlpatterns = [
    path("payouts", PayoutViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "payouts/<str:payout_id>",
        PayoutViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("payouts/<str:payout_id>/cancel", PayoutViewSet.as_view({"post": "cancel"})),
]
