"""Days whose payments are counted once they are over, and again when one of them changes late.

A day is counted when it has been over for half an hour: what was changed within 10 minutes of its
making is then committed, as no request or job lasts for 20 minutes. Whatever changes a payment
later writes or locks a `LateChange` in its own transaction; until the day is counted again, its
readers count it themselves (`day_counts`). A merchant in another zone begins from nothing.
"""

import time
from collections import deque
from datetime import date, timedelta

import structlog
from django.db import connection, transaction

from core import clock, local_days
from core.one_by_one import alone
from merchants.models import Merchant
from payments.intents import day_counts
from payments.intents.models import CountedDay, CountedMerchant, LateChange, PaymentIntent

# Charts reach back so far: 90 days, and as many before them.
DAYS_KEPT = 181
REST = timedelta(minutes=30)
# A run is short, because the same worker resolves open payments; the next run goes on.
RUN_SECONDS = 3
CHANGES_MOST, MERCHANTS_MOST = 1_000, 500

# Merchants that lack a day that is over, or have a day to be counted again. In no order: a merchant
# whose day takes longer than a run would else hold back all behind it, run after run.
WAITING = """
SELECT merchant.id FROM merchants_merchant AS merchant
LEFT JOIN intents_countedmerchant AS counted ON counted.merchant_id = merchant.id
WHERE counted.timezone IS DISTINCT FROM merchant.timezone
    OR counted.until < ((%(rested)s AT TIME ZONE merchant.timezone)::date - 1)
    OR EXISTS (SELECT FROM intents_latechange AS late WHERE late.merchant_id = merchant.id)
ORDER BY random() LIMIT %(most)s
"""

log = structlog.get_logger(__name__)


def count_due() -> int:
    """Count days that are over, for 3 s at most; return how many it were.

    Merchants take turns, a day each. Each day is a transaction of its own: safe to kill at any
    place, to run late, and to run twice at a time.
    """
    ends_at = time.monotonic() + RUN_SECONDS
    counted, waiting = 0, deque(_waiting())
    while waiting and time.monotonic() < ends_at:
        merchant = waiting.popleft()
        with alone("day_count_failed", merchant=merchant.id):
            if _count_next(merchant):
                counted += 1
                waiting.append(merchant)
    if counted:
        log.info("days_counted", days=counted)
    return counted


def _waiting() -> list[Merchant]:
    with connection.cursor() as cursor:
        cursor.execute(WAITING, {"rested": clock.now() - REST, "most": MERCHANTS_MOST})
        found = [merchant_id for (merchant_id,) in cursor.fetchall()]
    known = Merchant.objects.in_bulk(found)
    return [known[merchant_id] for merchant_id in found]


@transaction.atomic(durable=True)
def _count_next(merchant: Merchant) -> bool:
    """Count a day; return whether there may be more, False if another run is at work."""
    kept = _hold(merchant)
    if kept is None:
        return False
    return _count_again(merchant, kept) or _count_over(merchant, kept)


def _hold(merchant: Merchant) -> CountedMerchant | None:
    """Lock how far a merchant is counted, in the zone that the merchant has now."""
    nothing = day_counts.today(merchant) - timedelta(days=DAYS_KEPT + 1)
    fresh = CountedMerchant(merchant=merchant, timezone=merchant.timezone, until=nothing)
    CountedMerchant.objects.bulk_create([fresh], ignore_conflicts=True)
    rows = CountedMerchant.objects.select_for_update(no_key=True, skip_locked=True)
    kept = rows.filter(merchant=merchant).first()
    if kept and kept.timezone != merchant.timezone:
        CountedDay.objects.filter(merchant=merchant).delete()
        kept.timezone, kept.until = merchant.timezone, nothing
        kept.save()
    return kept


def _count_again(merchant: Merchant, kept: CountedMerchant) -> bool:
    """Count the day of the first late change again; return False if there is none.

    Locked before the day is counted: a change that is not committed yet has a lock on its mark, and
    one that comes meanwhile writes its own. Such a day is counted again by the next run.
    """
    rows = LateChange.objects.select_for_update(skip_locked=True).filter(merchant=merchant)
    first = rows.order_by("created_at", "id").first()
    if first is None:
        return False
    day = local_days.of(first.created_at, kept.timezone)
    [(begins, ends)] = day_counts.spans([day], kept.timezone)
    of_day = rows.filter(created_at__gte=begins, created_at__lt=ends)
    own = [one.id for one in of_day[:CHANGES_MOST]]
    if day <= kept.until:
        _write(merchant, day)
    LateChange.objects.filter(id__in=own).delete()
    return True


def _count_over(merchant: Merchant, kept: CountedMerchant) -> bool:
    """Count the next day that has payments and is over; return False if there is none."""
    last = local_days.of(clock.now() - REST, kept.timezone) - timedelta(days=1)
    if kept.until >= last:
        return False
    begins = local_days.begins(kept.until + timedelta(days=1), kept.timezone)
    rows = PaymentIntent.objects.for_merchant(merchant).filter(created_at__gte=begins)
    first = rows.order_by("created_at", "id").values_list("created_at", flat=True).first()
    day = local_days.of(first, kept.timezone) if first else None
    if day and day <= last:
        _write(merchant, day)
        kept.until = day
    else:
        kept.until = last
    _forget_old(merchant, kept.until)
    kept.save()
    return True


def _write(merchant: Merchant, day: date) -> None:
    parts = day_counts.spans([day], merchant.timezone)
    cells = [cell for _day, cell in day_counts.count(merchant, parts)]
    CountedDay.objects.bulk_create(
        [CountedDay(merchant=merchant, day=day, cells=cells)],
        update_conflicts=True, unique_fields=["merchant", "day"], update_fields=["cells"],
    )  # fmt: skip


def _forget_old(merchant: Merchant, until: date) -> None:
    first = until - timedelta(days=DAYS_KEPT)
    CountedDay.objects.filter(merchant=merchant, day__lt=first).delete()
