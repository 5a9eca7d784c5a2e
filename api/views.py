from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api import request_logs, schema
from api.viewset import ApiViewSet
from merchants import accounts, filters
from merchants.models import RequestLog


class MerchantViewSet(ApiViewSet):
    """The account that the key belongs to."""

    operations = schema.MERCHANT
    scope = "merchant"

    def retrieve(self, request: Request) -> Response:
        return Response(accounts.shown(self.merchant))


class RequestLogViewSet(ApiViewSet):
    """The request log: a merchant's own requests to the API and their answers, for support."""

    operations = schema.REQUEST_LOGS
    scope = "request_logs"
    lists = {"list": filters.REQUEST_LOGS}

    def list(self, request: Request) -> Response:
        page = self.page_of(RequestLog.objects.for_merchant(self.merchant))
        return self.get_paginated_response([request_logs.shown(row) for row in page])

    def retrieve(self, request: Request, log_id: str) -> Response:
        row = RequestLog.objects.for_merchant(self.merchant).find(log_id)
        return Response(request_logs.shown(row))


urlpatterns = [
    path("merchant", MerchantViewSet.as_view({"get": "retrieve"})),
    path("request_logs", RequestLogViewSet.as_view({"get": "list"})),
    path("request_logs/<str:log_id>", RequestLogViewSet.as_view({"get": "retrieve"})),
]
