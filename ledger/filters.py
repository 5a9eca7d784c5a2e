"""Filters of the list of balance transactions (contract-money)."""

from datetime import UTC, date, datetime
from typing import Any

from django.db.models import QuerySet

from core import local_days
from core.rest.filters import Currency, Equal, Filters, Instants, OneOf
from core.rest.lists import ListSpec
from ledger.models import Movement

# A day is shown as the second in which it begins. By operator, the lookups that ask for days whose
# second is so: where the number is that of a day, and where it lies within one.
AT_ITS_BEGINNING = {operator: operator for operator in ("exact", "gte", "gt", "lt", "lte")}
WITHIN = {"gte": "gt", "gt": "gt", "lt": "lte", "lte": "lte"}


class Days(Instants):
    """Unix seconds, of a column of days in the merchant's timezone."""

    def narrowed(self, rows: Any, wanted: list[tuple[str, int]]) -> QuerySet[Any]:
        for operator, number in wanted:
            day, is_its_beginning = _day_of(number, rows.merchant.timezone)
            lookup = (AT_ITS_BEGINNING if is_its_beginning else WITHIN).get(operator)
            if lookup is None:
                return rows.none()
            rows = rows.filter(**{f"{self.field_name}__{lookup}": day})
        return rows


def _day_of(number: int, timezone: str) -> tuple[date, bool]:
    """Return the day that has a second, and whether it begins with it."""
    moment = datetime.fromtimestamp(number, UTC)
    day = local_days.of(moment, timezone)
    return day, local_days.begins(day, timezone) == moment


class TransactionFilters(Filters):
    type = OneOf("type", Movement.Type.values)
    source = Equal("source_id")
    currency = Currency("currency")
    created = Instants("created_at")
    available_on = Days("available_on")


TRANSACTIONS = ListSpec(
    filters=TransactionFilters, sort_keys={"created": "created_at", "amount": "amount"}
)
