"""Filters of the list of refunds (spec: List conventions; contract 7)."""

from core.rest.filters import Amounts, AnyOf, Filters, Instants, OneOf, RelatedId
from core.rest.lists import ListSpec
from payments.intents.models import PaymentIntent
from payments.refunds.states import Method, RefundStatus


class RefundFilters(Filters):
    payment_intent = RelatedId("intent", PaymentIntent.objects.all(), param="payment_intent")
    status = AnyOf("status", RefundStatus.values)
    method = OneOf("method", Method.values)
    amount = Amounts("amount")
    created = Instants("created_at")


REFUNDS = ListSpec(filters=RefundFilters, sort_keys={"created": "created_at", "amount": "amount"})
