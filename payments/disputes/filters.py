"""Filters of the list of disputes (contract 7)."""

from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from payments.disputes.models import Dispute
from payments.intents.models import PaymentIntent


class DisputeFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}

    payment_intent = ObjectIdFilter(
        "intent", method=of_the_merchant(PaymentIntent.objects.all(), "payment_intent")
    )

    class Meta(Filters.Meta):
        model = Dispute
        fields = {
            "status": ["in"],
            "evidence_due_by": RANGE,
            "intent": EXACT,
            "reason": EXACT,
            "created_at": RANGE,
        }


DISPUTES = ListSpec(
    filters=DisputeFilters,
    sort_keys={
        "created": "created_at",
        "amount": "amount",
        "evidence_due_by": "evidence_due_by",
    },
)
