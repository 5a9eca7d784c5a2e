from rest_framework.request import Request
from rest_framework.response import Response

from ledger import balance, schema
from merchants.api import ApiViewSet


class BalanceViewSet(ApiViewSet):
    """The merchant's balance. Answers every valid key: it is how a key is tried out."""

    operations = schema.BALANCE

    def retrieve(self, request: Request) -> Response:
        return Response(balance.shown(self.merchant))
