from django.urls import path

from payments.customers.views import CustomerViewSet

urlpatterns = [
    path("customers", CustomerViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "customers/<str:customer_id>",
        CustomerViewSet.as_view({"get": "retrieve", "post": "update", "delete": "destroy"}),
    ),
]
