"""Filters of the list of balance transactions (contract-money)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import DateField
from django.http import QueryDict

from core import local_days
from core.rest.components import Choices
from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters, Instant, InstantFilter
from core.rest.lists import ListSpec
from ledger.models import Movement

_IS = Movement.Type
TRANSACTION_TYPE = Choices(
    "BalanceTransactionType",
    {
        _IS.CHARGE: "A payment was captured.",
        _IS.REFUND: "A refund took money.",
        _IS.REFUND_FAILURE: "A refund failed, and its money came back.",
        _IS.DISPUTE: "A dispute took money.",
        _IS.DISPUTE_REVERSAL: "A dispute was won, and its money came back.",
        _IS.PAYOUT: "A payout took money.",
        _IS.PAYOUT_FAILURE: "A payout failed, and its money came back.",
        _IS.PAYOUT_CANCEL: "A payout was canceled, and its money came back.",
        _IS.TOPUP: "A topup added money.",
        _IS.TOPUP_REVERSAL: "The bank took a topup back.",
        _IS.ADJUSTMENT: "An operator corrected the balance.",
    },
)


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
    meanings = {
        "type": "What moved the money.",
        "source": "The id of the object behind it; a charge's payment.",
        "available_on": "From when it is available, in Unix seconds.",
    }
    choices = {"type": TRANSACTION_TYPE}

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
