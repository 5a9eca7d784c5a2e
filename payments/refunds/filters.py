"""Filters of the list of refunds (spec: List conventions; contract 7)."""

from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund


class RefundFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}

    payment_intent = ObjectIdFilter(
        "intent", method=of_the_merchant(PaymentIntent.objects.all(), "payment_intent")
    )

    class Meta(Filters.Meta):
        model = Refund
        fields = {
            "intent": EXACT,
            "status": ["in"],
            "method": EXACT,
            "amount": RANGE,
            "created_at": RANGE,
        }


REFUNDS = ListSpec(filters=RefundFilters, sort_keys={"created": "created_at", "amount": "amount"})
