"""Filters of the list of balance transactions (contract-money)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import DateField
from django.http import QueryDict

from core import local_days
from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters, Instant, InstantFilter
from core.rest.lists import ListSpec
from ledger.models import Movement


class Day(Instant):
    """Unix seconds, of a column of days: a day is shown as the second in which it begins."""

    def __init__(self, *, timezone: str, **options: Any) -> None:
        super().__init__(**options)
        self.timezone = timezone

    def ends(self, second: int) -> tuple[Any, Any]:
        """Return the first day that does not begin before a second, and the last not after it."""
        moment = datetime.fromtimestamp(second, UTC)
        day = local_days.of(moment, self.timezone)
        is_its_beginning = local_days.begins(day, self.timezone) == moment
        return day if is_its_beginning else day + timedelta(days=1), day


class DayFilter(InstantFilter):
    field_class = Day


class TransactionFilters(Filters):
    parameters = {**Filters.parameters, "source_id": "source"}

    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Movement
        fields = {
            "type": EXACT,
            "source_id": EXACT,
            "currency": EXACT,
            "created_at": RANGE,
            "available_on": RANGE,
        }
        filter_overrides = {
            **Filters.Meta.filter_overrides,
            DateField: {"filter_class": DayFilter, "extra": lambda _field: {"timezone": "UTC"}},
        }

    def __init__(self, data: QueryDict, queryset: Any, **options: Any) -> None:
        super().__init__(data, queryset, **options)
        for one in self.filters.values():
            if isinstance(one, DayFilter):
                one.extra["timezone"] = queryset.merchant.timezone


TRANSACTIONS = ListSpec(
    filters=TransactionFilters, sort_keys={"created": "created_at", "amount": "amount"}
)
