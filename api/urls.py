from django.urls import path

from api.views import MerchantViewSet, RequestLogViewSet

urlpatterns = [
    path("merchant", MerchantViewSet.as_view({"get": "retrieve"})),
    path("request_logs", RequestLogViewSet.as_view({"get": "list"})),
    path("request_logs/<str:log_id>", RequestLogViewSet.as_view({"get": "retrieve"})),
]
