"""Filters of the list of topups (spec: List conventions; contract 7)."""

from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters
from core.rest.lists import ListSpec
from payouts.topups.models import Topup


class TopupFilters(Filters):
    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Topup
        fields = {"status": ["in"], "currency": EXACT, "created_at": RANGE}


TOPUPS = ListSpec(filters=TopupFilters, sort_keys={"created": "created_at", "amount": "amount"})
