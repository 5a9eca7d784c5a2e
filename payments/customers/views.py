"""The API's door to customers: read the body, make one domain call, render the customer."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payments.customers import customers, render, schema
from payments.customers.forms import CreateCustomerForm, UpdateCustomerForm
from payments.customers.models import Customer
from payments.customers.resource import CUSTOMERS


class CustomerViewSet(ApiViewSet):
    """Customers (spec: Endpoints)."""

    operations = schema.CUSTOMERS
    scope = "customers"
    lists = {"list": CUSTOMERS}

    def list(self, request: Request) -> Response:
        page = self.page_of(Customer.objects.for_merchant(self.merchant).existing())
        return self.get_paginated_response([render.customer(customer) for customer in page])

    def create(self, request: Request) -> Response:
        draft = CreateCustomerForm.read(self.body)
        return _customer(customers.create(self.merchant, draft))

    def retrieve(self, request: Request, customer_id: str) -> Response:
        return _customer(Customer.objects.for_merchant(self.merchant).find(customer_id))

    def update(self, request: Request, customer_id: str) -> Response:
        changes = UpdateCustomerForm.read(self.body)
        return _customer(customers.update(self.merchant, customer_id, changes))

    def destroy(self, request: Request, customer_id: str) -> Response:
        return _customer(customers.delete(self.merchant, customer_id))

    def resume(self, request: Request, **kwargs: str) -> Response:
        return self.retrieve(request, self.earlier.object_id)


def _customer(customer: Customer) -> Response:
    return Response(render.customer(customer))


urlpatterns = [
    path("customers", CustomerViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "customers/<str:customer_id>",
        CustomerViewSet.as_view({"get": "retrieve", "post": "update", "delete": "destroy"}),
    ),
]
