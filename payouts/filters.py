"""Filters of the list of payouts (spec: List conventions; contract 7)."""

from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters
from core.rest.lists import ListSpec
from payouts.models import Payout


class PayoutFilters(Filters):
    parameters = {**Filters.parameters, "arrival_at": "arrival_date"}

    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Payout
        fields = {"status": ["in"], "currency": EXACT, "arrival_at": RANGE, "created_at": RANGE}


PAYOUTS = ListSpec(
    filters=PayoutFilters,
    sort_keys={"created": "created_at", "amount": "amount", "arrival_date": "arrival_at"},
)
