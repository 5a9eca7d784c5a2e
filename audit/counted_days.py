"""The check of days that are kept for charts: their payments are counted again.

A day with a late change is left out: no chart reads it until the job has counted it again.
"""

from collections.abc import Iterable
from datetime import date, timedelta

from audit.findings import Findings
from core import local_days
from merchants.models import Merchant
from payments.intents import counted_days, day_counts
from payments.intents.day_counts import Counted
from payments.intents.models import CountedDay, CountedMerchant, LateChange

# By day, currency and group: the numbers of payments, charged minor units, paid and refused ones.
Sums = dict[tuple[date, str, str], tuple[int, ...]]


def check() -> Findings:
    """Compare the days that charts read with the payments that were made on them."""
    found = Findings("counted days are their payments")
    for reached in CountedMerchant.objects.order_by("merchant_id").iterator():
        late = _late(reached)
        days = [day for day in _days(reached) if day not in late]
        kept, counted = _kept(reached, days), _counted(reached, days)
        found.looked_at += len(days)
        found.differences += [
            f"merchant {reached.merchant_id}, {day}: {group} in {currency} is kept as"
            f" {kept.get((day, currency, group))}, its payments make"
            f" {counted.get((day, currency, group))}"
            for day, currency, group in sorted(kept.keys() | counted.keys())
            if kept.get((day, currency, group)) != counted.get((day, currency, group))
        ]
    return found


def _days(reached: CountedMerchant) -> list[date]:
    """Return the days that charts may ask for, and that are counted."""
    merchant = Merchant(id=reached.merchant_id, timezone=reached.timezone)
    first = day_counts.today(merchant) - timedelta(days=counted_days.DAYS_KEPT)
    return [first + timedelta(days=one) for one in range((reached.until - first).days + 1)]


def _late(reached: CountedMerchant) -> set[date]:
    quarters = LateChange.objects.filter(merchant=reached.merchant_id).values_list("created_at")
    return {local_days.of(begins, reached.timezone) for (begins,) in quarters}


def _kept(reached: CountedMerchant, days: list[date]) -> Sums:
    rows = CountedDay.objects.filter(merchant=reached.merchant_id, day__in=days)
    return _sums((row.day, day_counts.Cell(*cell)) for row in rows for cell in row.cells)


def _counted(reached: CountedMerchant, days: list[date]) -> Sums:
    merchant = Merchant(id=reached.merchant_id, timezone=reached.timezone)
    return _sums(day_counts.count(merchant, day_counts.spans(days, reached.timezone)))


def _sums(counted: Iterable[Counted]) -> Sums:
    return {
        (day, cell.currency, f"{cell.group} {cell.value}"): (
            cell.number, cell.charged, cell.paid, cell.refused,
        )
        for day, cell in counted
    }  # fmt: skip
