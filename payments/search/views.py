"""The API's door to search: one list, merged from payments and customers."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import ParameterMissing
from core.rest import query
from core.rest.lists import ListSpec, Source, merged
from merchants.api import ApiViewSet
from merchants.authentication import may
from payments.customers import search as customer_search
from payments.customers.models import Customer
from payments.customers.render import customer as shown_customer
from payments.customers.views import CustomerViewSet
from payments.intents import search as intent_search
from payments.intents.models import PaymentIntent
from payments.intents.render import payment_intent as shown_intent
from payments.search import schema

PAYMENTS = ListSpec(search=intent_search.matching)
CUSTOMERS = ListSpec(search=customer_search.matching)


class SearchViewSet(ApiViewSet):
    """Payments and customers that one text finds, newest first (spec: Search).

    A key that may not read customers finds payments only.
    """

    operations = schema.SEARCH
    scope = "payment_intents"
    shows = ("payment_intent", "customer")
    lists = {"list": PAYMENTS}

    def list(self, request: Request) -> Response:
        asked = request.query_params
        if "q" not in query.given(asked):
            raise ParameterMissing(param="q")
        page = merged(self._sources(), asked, url=request.path)
        return Response(page.envelope(self.expanded([_found(row) for row in page.rows])))

    def _sources(self) -> Sequence[Source]:
        found = [Source(PaymentIntent.objects.for_merchant(self.merchant), PAYMENTS)]
        if may(self.key, CustomerViewSet.scope, "GET"):
            own = Customer.objects.for_merchant(self.merchant)
            found.append(Source(own.existing(), CUSTOMERS, cursors=own))
        return found


def _found(row: PaymentIntent | Customer) -> dict[str, Any]:
    return shown_customer(row) if isinstance(row, Customer) else shown_intent(row)
