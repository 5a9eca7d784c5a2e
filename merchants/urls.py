from django.urls import path

from merchants.views import MerchantViewSet

urlpatterns = [
    path("merchant", MerchantViewSet.as_view({"get": "retrieve"})),
]
