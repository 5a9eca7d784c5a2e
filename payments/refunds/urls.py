from django.urls import path

from payments.refunds.views import RefundViewSet

urlpatterns = [
    path("refunds", RefundViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "refunds/<str:refund_id>",
        RefundViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("refunds/<str:refund_id>/cancel", RefundViewSet.as_view({"post": "cancel"})),
]
