from django.urls import path

from ledger.views import BalanceTransactionViewSet, BalanceViewSet

urlpatterns = [
    path("balance", BalanceViewSet.as_view({"get": "retrieve"})),
    path("balance_transactions", BalanceTransactionViewSet.as_view({"get": "list"})),
    path(
        "balance_transactions/<str:transaction_id>",
        BalanceTransactionViewSet.as_view({"get": "retrieve"}),
    ),
]
