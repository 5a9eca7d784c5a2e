"""Public holidays that operators add to a country's calendar, or take away from it, with a reason.

Dates of what is captured already stay as they are (contract-money: value dates).
"""

from datetime import date

from django.db import transaction

from core import clock, ids
from ledger.models import HolidayChange
from merchants import audit_log

REASON_MAX = 500


@transaction.atomic(durable=True)
def change(country: str, day: date, *, is_holiday: bool, reason: str) -> HolidayChange:
    """Say whether a date is a public holiday of a country; what is so already is no change.

    :param country: two capital letters.
    :param reason: the operator's, for the audit log.
    :return: the row by which it is so from now on.
    """
    terms = {"is_holiday": is_holiday, "reason": reason, "created_at": clock.now()}
    fresh = HolidayChange(id=ids.new("hol"), country=country, date=day, **terms)
    # A second change of the same date waits here, and then finds this one.
    HolidayChange.objects.bulk_create([fresh], ignore_conflicts=True)
    row = HolidayChange.objects.select_for_update().get(country=country, date=day)
    if row.id != fresh.id and row.is_holiday == is_holiday:
        return row
    before = None if row.id == fresh.id else {"is_holiday": row.is_holiday}
    row.is_holiday, row.reason, row.created_at = is_holiday, reason, fresh.created_at
    row.save()
    audit_log.record(
        "holiday.added" if is_holiday else "holiday.removed",
        merchant=None,
        subject=f"{country} {day}",
        before=before,
        after={"is_holiday": is_holiday},
        reason=reason,
    )
    return row
