"""The API's door to search: one list, merged from objects of several kinds."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.authentication import may
from api.viewset import ApiViewSet
from core.errors import ParameterMissing
from core.rest import query
from core.rest.lists import Source, merged
from payments.customers.models import Customer
from payments.customers.render import customer as shown_customer
from payments.disputes.models import Dispute
from payments.disputes.render import dispute as shown_dispute
from payments.intents.models import PaymentIntent
from payments.intents.render import payment_intent as shown_intent
from payments.refunds.models import Refund
from payments.refunds.render import refund as shown_refund
from payments.search import schema
from payments.search.sources import PAYMENTS, sources

SHOW: dict[type[Model], Callable[[Any], dict[str, Any]]] = {
    PaymentIntent: shown_intent,
    Customer: shown_customer,
    Refund: shown_refund,
    Dispute: shown_dispute,
}


class SearchViewSet(ApiViewSet):
    """Payments, customers, refunds and disputes that one text finds, newest first (spec: Search).

    A key finds objects of the kinds that it may read only.
    """

    operations = schema.SEARCH
    scope = "payment_intents"
    shows = ("payment_intent", "customer", "refund", "dispute")
    lists = {"list": PAYMENTS}

    def list(self, request: Request) -> Response:
        asked = request.query_params
        if "q" not in query.given(asked):
            raise ParameterMissing(param="q")
        page = merged(self._sources(), asked, url=request.path)
        return Response(page.envelope(self.expanded([_found(row) for row in page.rows])))

    def _sources(self) -> Sequence[Source]:
        payments = PaymentIntent.objects.for_merchant(self.merchant)
        return sources(
            payments, self.searchable(payments), may_read=lambda scope: may(self.key, scope, "GET")
        )


def _found(row: Model) -> dict[str, Any]:
    return SHOW[type(row)](row)


urlpatterns = [path("search", SearchViewSet.as_view({"get": "list"}))]
