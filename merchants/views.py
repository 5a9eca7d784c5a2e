from rest_framework.request import Request
from rest_framework.response import Response

from merchants import accounts
from merchants.api import ApiViewSet


class MerchantViewSet(ApiViewSet):
    """The account that the key belongs to."""

    scope = "merchant"

    def retrieve(self, request: Request) -> Response:
        return Response(accounts.shown(self.merchant))
