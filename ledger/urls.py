from django.urls import path

from ledger.views import BalanceViewSet

urlpatterns = [
    path("balance", BalanceViewSet.as_view({"get": "retrieve"})),
]
