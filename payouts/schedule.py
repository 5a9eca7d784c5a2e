"""Payouts by schedule: after a day's run, all that is available (contract-money, value dates)."""

from datetime import date, timedelta

from django.db import transaction

from acquirers import rails
from core import ids
from core.money import MAX_REQUESTED_MINOR
from ledger import accounts, balance, earmarks
from ledger.calendar import Calendar
from merchants import payout_schedules
from merchants.accounts import require_payouts
from merchants.models import Merchant, PayoutSchedule
from payouts import creation
from payouts.creation import Wanted
from payouts.models import Payout

Interval = PayoutSchedule.Interval
WEEKDAYS = tuple(PayoutSchedule.Weekday.values)


def pay_out(merchant: Merchant, currency: str, day: date) -> Payout | None:
    """Pay out all that is available and that no refund waits for; once for each day.

    Call it on a day of the schedule, after the day's run, in the work of a job: the payout's event
    names its request.

    :param day: the merchant's local date.
    :returns: None if there is nothing to pay out.
    :raises MerchantRestricted: the account may have no payouts at the moment.
    :raises UpstreamUnavailable: the installation has no bank that pays out.
    :raises ParameterMissing: no default account is registered.
    """
    schedule = payout_schedules.of(merchant)
    wanted = Wanted(0, currency, scheduled_on=day)
    accounts.ensure(merchant.id, currency)
    require_payouts(merchant)
    rails.rail()
    return _paid_out(merchant, wanted, minimum=max(1, schedule.minimum_amount))


@transaction.atomic(durable=True)
def _paid_out(merchant: Merchant, wanted: Wanted, *, minimum: int) -> Payout | None:
    # Runs that meet wait here, and the second one finds the first one's payout.
    accounts.lock(merchant.id, wanted.currency)
    of_the_day = Payout.objects.for_merchant(merchant).filter(scheduled_on=wanted.scheduled_on)
    if of_the_day.filter(currency=wanted.currency).exists():
        return None
    available = balance.funds(merchant.id, wanted.currency).available
    free = available - earmarks.of(merchant.id, wanted.currency)
    amount = min(free, MAX_REQUESTED_MINOR)
    if amount < minimum:
        return None
    return creation.open_payout(ids.new("po"), merchant, wanted.of_amount(amount))


def is_due(schedule: PayoutSchedule, day: date, holidays: Calendar) -> bool:
    """Return whether a schedule pays out on a day: on its day, or the next business day after it.

    :param holidays: of the merchant's country.
    """
    if schedule.interval == Interval.MANUAL or not holidays.is_business_day(day):
        return False
    if _is_anchor(schedule, day):
        return True
    # The days right before it that were no business days have come to this one.
    before = day - timedelta(days=1)
    while not holidays.is_business_day(before):
        if _is_anchor(schedule, before):
            return True
        before -= timedelta(days=1)
    return False


def _is_anchor(schedule: PayoutSchedule, day: date) -> bool:
    if schedule.interval == Interval.WEEKLY:
        return WEEKDAYS[day.weekday()] == schedule.weekly_anchor
    if schedule.interval == Interval.MONTHLY:
        is_last = (day + timedelta(days=1)).day == 1
        anchor = schedule.monthly_anchor or 1
        return day.day == anchor or (is_last and day.day < anchor)
    return True
