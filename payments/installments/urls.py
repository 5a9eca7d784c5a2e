from django.urls import path

from payments.installments.views import InstallmentViewSet

urlpatterns = [path("installments", InstallmentViewSet.as_view({"get": "retrieve"}))]
