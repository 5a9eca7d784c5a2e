"""The schedules by which merchants get their money (contract-money, Merchant).

A change concerns captures from then on: what is captured keeps its dates.
"""

from collections.abc import Mapping
from typing import Any

from merchants.models import Merchant, PayoutSchedule

NAMES = (
    "interval", "weekly_anchor", "monthly_anchor", "minimum_amount", "delay_days", "installments",
)  # fmt: skip
# Python takes True for 1; the API's amounts do not.
NUMBERS = ("monthly_anchor", "minimum_amount", "delay_days")
# An interval that changes leaves the anchor of the one before behind.
ANCHORS = {"weekly_anchor": "weekly", "monthly_anchor": "monthly"}


def of(merchant: Merchant) -> PayoutSchedule:
    """Return a merchant's schedule; the default one, unsaved, if none is set."""
    found = PayoutSchedule.objects.filter(merchant=merchant).first()
    return found or PayoutSchedule(merchant=merchant)


def shown(merchant: Merchant) -> dict[str, Any]:
    """Return the schedule as the API shows it."""
    schedule = of(merchant)
    return {name: getattr(schedule, name) for name in NAMES}


def change(merchant: Merchant, values: Mapping[str, Any]) -> None:
    """Change a merchant's schedule; what is not named stays. The merchant is locked.

    An anchor need not be taken away: another interval does.

    :raises TypeError: a name that a schedule does not have, or no number where one belongs.
    :raises django.core.exceptions.ValidationError: a value that a schedule does not take.
    """
    if not isinstance(values, Mapping):
        raise TypeError("not the values of names")
    schedule = of(merchant)
    for name, value in values.items():
        if name not in NAMES or (name in NUMBERS and isinstance(value, bool | float)):
            raise TypeError(name)
        setattr(schedule, name, value)
    for name, interval in ANCHORS.items():
        if name not in values and schedule.interval != interval:
            setattr(schedule, name, None)
    schedule.full_clean(validate_unique=False)
    schedule.save()
