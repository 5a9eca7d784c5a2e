from django.urls import path

from payments.disputes.views import DisputeViewSet

urlpatterns = [
    path("disputes", DisputeViewSet.as_view({"get": "list"})),
    path(
        "disputes/<str:dispute_id>", DisputeViewSet.as_view({"get": "retrieve", "post": "update"})
    ),
    path("disputes/<str:dispute_id>/close", DisputeViewSet.as_view({"post": "close"})),
]
