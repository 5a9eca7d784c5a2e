from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from ledger import balance, resource, schema, transactions
from ledger.filters import TRANSACTIONS


class BalanceViewSet(ApiViewSet):
    """The merchant's balance. Answers every valid key: it is how a key is tried out."""

    operations = schema.BALANCE

    def retrieve(self, request: Request) -> Response:
        return Response(balance.shown(self.merchant))


class BalanceTransactionViewSet(ApiViewSet):
    """Balance transactions (contract-money)."""

    operations = schema.BALANCE_TRANSACTIONS
    scope = resource.SCOPE
    lists = {"list": TRANSACTIONS}

    def list(self, request: Request) -> Response:
        page = self.page_of(transactions.of_merchant(self.merchant))
        return self.get_paginated_response(transactions.shown(page, self.merchant))

    def retrieve(self, request: Request, transaction_id: str) -> Response:
        movement = transactions.of_merchant(self.merchant).find(transaction_id)
        [shown] = transactions.shown([movement], self.merchant)
        return Response(shown)


urlpatterns = [
    path("balance", BalanceViewSet.as_view({"get": "retrieve"})),
    path("balance_transactions", BalanceTransactionViewSet.as_view({"get": "list"})),
    path(
        "balance_transactions/<str:transaction_id>",
        BalanceTransactionViewSet.as_view({"get": "retrieve"}),
    ),
]
