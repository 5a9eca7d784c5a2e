from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import ParameterMissing
from core.rest import query
from core.rest.lists import ListSpec, Source, merged
from merchants import idempotency
from merchants.api import ApiViewSet
from merchants.authentication import may
from payments import (
    cancellations,
    captures,
    customer_schema,
    customers,
    expansion,
    intents,
    lifecycle,
    recovery,
    render,
    schema,
    search,
)
from payments.filters import CustomerFilters, PaymentFilters
from payments.forms import (
    CancelIntentForm,
    CaptureIntentForm,
    ConfirmIntentForm,
    CreateCustomerForm,
    CreateIntentForm,
    UpdateCustomerForm,
    UpdateIntentForm,
    cvc_of,
)
from payments.models import Customer, PaymentIntent


class PaymentIntentViewSet(ApiViewSet):
    """Payments (spec: Endpoints)."""

    operations = schema.PAYMENT_INTENTS
    scope = "payment_intents"
    expandable = expansion.PAYMENT_INTENT
    kinds = expansion.KINDS
    lists = {
        "list": ListSpec(
            filters=PaymentFilters,
            sort_keys={"created": "created_at", "amount": "amount"},
            search=search.payments,
        )
    }

    def list(self, request: Request) -> Response:
        page = self.page_of(PaymentIntent.objects.for_merchant(self.merchant))
        shown = [render.payment_intent(intent) for intent in page.rows]
        return Response(page.envelope(self.expanded(shown)))

    def create(self, request: Request) -> Response:
        draft = CreateIntentForm.read(self.body)
        return self._shown(lifecycle.create(self.merchant, draft))

    def retrieve(self, request: Request, intent_id: str) -> Response:
        return self._shown(PaymentIntent.objects.for_merchant(self.merchant).find(intent_id))

    def update(self, request: Request, intent_id: str) -> Response:
        changes = UpdateIntentForm.read(self.body)
        return self._shown(intents.update(self.merchant, intent_id, changes))

    def confirm(self, request: Request, intent_id: str) -> Response:
        confirmation = ConfirmIntentForm.read(self.body)
        return self._shown(lifecycle.confirm(self.merchant, intent_id, confirmation))

    def capture(self, request: Request, intent_id: str) -> Response:
        asked = CaptureIntentForm.read(self.body)
        amount = asked.get("amount_to_capture")
        return self._shown(captures.capture(self.merchant, intent_id, amount))

    def cancel(self, request: Request, intent_id: str) -> Response:
        asked = CancelIntentForm.read(self.body)
        reason = asked.get("cancellation_reason")
        return self._shown(cancellations.cancel(self.merchant, intent_id, reason))

    def resume(self, request: Request, **kwargs: str) -> Response:
        cvc = cvc_of(self.body)
        return self._shown(recovery.resume(self.merchant, idempotency.earlier(), cvc=cvc))

    def _shown(self, intent: PaymentIntent) -> Response:
        [shown] = self.expanded([render.payment_intent(intent)])
        return Response(shown)


class CustomerViewSet(ApiViewSet):
    """Customers."""

    operations = customer_schema.CUSTOMERS
    scope = "customers"
    lists = {"list": ListSpec(filters=CustomerFilters)}

    def list(self, request: Request) -> Response:
        own = Customer.objects.for_merchant(self.merchant)
        page = self.page_of(own.existing(), cursors=own)
        return Response(page.envelope([render.customer(customer) for customer in page.rows]))

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
        return self.retrieve(request, idempotency.earlier().object_id)


def _customer(customer: Customer) -> Response:
    return Response(render.customer(customer))


class SearchViewSet(ApiViewSet):
    """Payments and customers that one text finds, newest first (spec: Search).

    A key that may not read customers finds payments only.
    """

    operations = schema.SEARCH
    scope = "payment_intents"
    expandable = expansion.FOUND
    kinds = expansion.KINDS
    lists = {"list": ListSpec(search=search.payments)}

    def list(self, request: Request) -> Response:
        asked = request.query_params
        if "q" not in query.given(asked):
            raise ParameterMissing(param="q")
        page = merged(self._sources(), asked, url=request.path)
        return Response(page.envelope(self.expanded([_found(row) for row in page.rows])))

    def _sources(self) -> Sequence[Source]:
        payments = PaymentIntent.objects.for_merchant(self.merchant)
        found = [Source(payments, self.lists["list"])]
        if may(self.request.auth, CustomerViewSet.scope, "GET"):
            own = Customer.objects.for_merchant(self.merchant)
            found.append(Source(own.existing(), ListSpec(search=search.customers), cursors=own))
        return found


def _found(row: PaymentIntent | Customer) -> dict[str, Any]:
    return render.customer(row) if isinstance(row, Customer) else render.payment_intent(row)
