"""Filters of the list of topups (spec: List conventions; contract 7)."""

from core.rest.filters import AnyOf, Currency, Filters, Instants
from core.rest.lists import ListSpec
from payouts.topups.states import TopupStatus


class TopupFilters(Filters):
    status = AnyOf("status", TopupStatus.values)
    currency = Currency("currency")
    created = Instants("created_at")


TOPUPS = ListSpec(filters=TopupFilters, sort_keys={"created": "created_at", "amount": "amount"})
