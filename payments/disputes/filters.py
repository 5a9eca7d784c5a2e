"""Filters of the list of disputes (contract 7)."""

from core.rest.filters import AnyOf, Filters, Instants, OneOf, RelatedId
from core.rest.lists import ListSpec
from payments.disputes.states import DisputeStatus, Reason
from payments.intents.models import PaymentIntent


class DisputeFilters(Filters):
    status = AnyOf("status", DisputeStatus.values)
    evidence_due_by = Instants("evidence_due_by")
    payment_intent = RelatedId("intent", PaymentIntent.objects.all(), param="payment_intent")
    reason = OneOf("reason", Reason.values)
    created = Instants("created_at")


DISPUTES = ListSpec(
    filters=DisputeFilters,
    sort_keys={
        "created": "created_at",
        "amount": "amount",
        "evidence_due_by": "evidence_due_by",
    },
)
