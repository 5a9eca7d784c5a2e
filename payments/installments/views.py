from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.viewset import ApiViewSet
from payments.installments import quotes, schema
from payments.installments.forms import QuoteForm


class InstallmentViewSet(ApiViewSet):
    """The installments that a card may pay in."""

    operations = schema.INSTALLMENTS
    scope = "payment_intents"
    queries = {"retrieve": QuoteForm}

    def retrieve(self, request: Request) -> Response:
        return Response(quotes.quote(self.merchant, **self.asked))


urlpatterns = [path("installments", InstallmentViewSet.as_view({"get": "retrieve"}))]
