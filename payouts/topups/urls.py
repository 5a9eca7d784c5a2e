from django.urls import path

from payouts.topups.views import TopupViewSet

urlpatterns = [
    path("topups", TopupViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "topups/<str:topup_id>",
        TopupViewSet.as_view({"get": "retrieve", "post": "update"}),
    ),
    path("topups/<str:topup_id>/cancel", TopupViewSet.as_view({"post": "cancel"})),
]
