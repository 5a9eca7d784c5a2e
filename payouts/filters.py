"""Filters of the list of payouts (spec: List conventions; contract 7)."""

from core.rest.filters import AnyOf, Currency, Filters, Instants
from core.rest.lists import ListSpec
from payouts.states import PayoutStatus


class PayoutFilters(Filters):
    status = AnyOf("status", PayoutStatus.values)
    currency = Currency("currency")
    arrival_date = Instants("arrival_at")
    created = Instants("created_at")


PAYOUTS = ListSpec(
    filters=PayoutFilters,
    sort_keys={"created": "created_at", "amount": "amount", "arrival_date": "arrival_at"},
)
