"""The look for payouts by schedule: each merchant's, once a day, when the day's run is over.

A day is the merchant's own. Days that were skipped, because no worker ran or the sandbox's clock
was moved, are caught up with by one payout.
"""

from collections.abc import Iterator
from datetime import date, timedelta

import structlog
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from api import request_logs
from core import clock, context, local_days
from core.errors import ParameterMissing, UpstreamUnavailable
from core.one_by_one import alone
from ledger import agenda, calendar
from ledger.calendar import Calendar
from ledger.models import Account, Due
from merchants import payout_schedules
from merchants.accounts import MerchantRestricted
from merchants.models import Merchant, PayoutAccount, PayoutSchedule
from payouts import schedule
from payouts.models import ScheduleLook

MERCHANTS_PER_CLAIM = 200
# Further back a skipped day is left out: the next day of the schedule comes within a month.
CAUGHT_UP = timedelta(days=31)
# By an operator's act between the look and the payout.
REFUSALS = (MerchantRestricted, UpstreamUnavailable, ParameterMissing)

log = structlog.get_logger(__name__)


def pay_out_due(*, job: str) -> None:
    """Pay out for every merchant whose day has begun and is settled; safe to run twice at once.

    A merchant with something still to settle, who may not be paid out at the moment, or with an
    error is left to the next look: the day is not over for them. All are while a transaction stays
    open that holds runs back.

    :param job: the name of this work in the request logs.
    """
    if not settings.TRANSFERS:
        return
    for zone in _zones():
        today = local_days.of(clock.now(), zone)
        # Otherwise the run of what was charged since the last look of settlement would come after.
        if _unseen(zone, today).exists() and not agenda.is_up_to_date():
            return
        for merchant in _not_looked_at(zone, today):
            if context.remaining_seconds() <= 0:
                return
            with alone("scheduled_payout_failed", merchant=merchant.id), request_logs.job(job):
                _follow_unless_refused(merchant, today)


def _zones() -> list[str]:
    return list(_automatic().order_by("timezone").values_list("timezone", flat=True).distinct())


def _not_looked_at(zone: str, today: date) -> Iterator[Merchant]:
    """Go over the merchants of a time zone whose day was not looked at, a claim after the other."""
    rows, last = _unseen(zone, today).order_by("id"), ""
    while found := list(rows.filter(id__gt=last)[:MERCHANTS_PER_CLAIM]):
        yield from found
        last = found[-1].id


def _unseen(zone: str, today: date) -> QuerySet[Merchant]:
    rows: QuerySet[Merchant] = _automatic().filter(timezone=zone)
    return rows.exclude(payout_look__day__gte=today)


def _automatic() -> QuerySet[Merchant]:
    manual = PayoutSchedule.Interval.MANUAL
    rows = Merchant.objects.filter(
        payout_schedule__isnull=False, status=Merchant.Status.ACTIVE, payouts_enabled=True
    )
    rows = rows.filter(
        Exists(PayoutAccount.objects.filter(merchant=OuterRef("pk"), is_default=True))
    )
    found: QuerySet[Merchant] = rows.exclude(payout_schedule__interval=manual)
    return found


def _follow_unless_refused(merchant: Merchant, today: date) -> None:
    try:
        _follow(merchant, today)
    except REFUSALS as refusal:
        log.warning("scheduled_payout_refused", merchant=merchant.id, code=refusal.code)


def _follow(merchant: Merchant, today: date) -> None:
    """Pay out what the schedule says, in each currency, and write down that the day is done.

    Killed in between, the next look does it again: a day has one payout of a currency.
    """
    if Due.objects.filter(merchant=merchant, due_on__lte=today).exists():
        return  # The day's run is not over.
    holidays = calendar.of(merchant.country)
    if _is_due(merchant, today, holidays):
        if not holidays.is_business_day(today):
            return  # Of days that were skipped: on the next business day.
        for currency in _currencies(merchant):
            schedule.pay_out(merchant, currency, today)
    ScheduleLook.objects.update_or_create(merchant=merchant, defaults={"day": today})


def _is_due(merchant: Merchant, today: date, holidays: Calendar) -> bool:
    terms = payout_schedules.of(merchant)
    seen = ScheduleLook.objects.filter(merchant=merchant).values_list("day", flat=True).first()
    begin = max(seen or today - timedelta(days=1), today - CAUGHT_UP)
    days = (begin + timedelta(days=count) for count in range(1, (today - begin).days + 1))
    return any(schedule.is_due(terms, day, holidays) for day in days)


def _currencies(merchant: Merchant) -> list[str]:
    rows = Account.objects.for_merchant(merchant).filter(kind=Account.Kind.AVAILABLE)
    return list(rows.order_by("currency").values_list("currency", flat=True))
