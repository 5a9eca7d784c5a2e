"""The figures of the overview: charges, failures with reasons, open tasks.

A payment counts on the day on which it was made, in the merchant's zone. The week is today with the
six days before it; it is compared with the seven days before up to the same moment.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count
from django.utils import timezone

from core import clock, local_days
from merchants.models import ApiKey, Merchant, RequestLog
from panel.patience import TookTooLong, limited
from payments.disputes import render as dispute_render
from payments.disputes.models import Dispute
from payments.disputes.states import ANSWERABLE
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus
from webhooks.models import Endpoint

DAYS = 7
# Keys that end within so many days (real time), and disputes that are due (movable clock).
KEYS_SOON, DISPUTES_SOON = timedelta(days=14), timedelta(days=7)
# Rows that are named; more are reached by the lists.
NAMED_MOST = 5
PAID = (PaymentStatus.SUCCEEDED, PaymentStatus.REQUIRES_CAPTURE)
# Of a refused payment: it waits for another card, or was given up.
REFUSED = (PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.CANCELED)

TOTALS = """
SELECT currency, (created_at AT TIME ZONE %(zone)s)::date AS day, created_at > %(cut)s AS is_late,
    sum(captured_minor)::bigint AS charged,
    count(*) FILTER (WHERE status = ANY(%(paid)s)) AS paid,
    count(*) FILTER (WHERE status = ANY(%(refused)s) AND last_payment_error IS NOT NULL) AS refused
FROM intents_paymentintent
WHERE merchant_id = %(merchant)s AND created_at >= %(since)s
GROUP BY 1, 2, 3
"""


class Total(NamedTuple):
    """The payments of a day in a currency.

    :param is_late: of the day that lies one week back: those after the moment that is now.
    :param charged: in minor units, surcharges included.
    :param paid: payments that succeeded or are authorised; `refused` those that failed.
    """

    currency: str
    day: date
    is_late: bool
    charged: int
    paid: int
    refused: int


class Reason(NamedTuple):
    """A cause of refused payments of the week.

    :param error: `code` and `decline_code` as `last_payment_error` has them.
    """

    error: dict[str, Any]
    times: int


class Figures(NamedTuple):
    """All of a merchant's; `at` is when they were worked out, in the movable clock."""

    at: datetime
    today: date
    totals: Sequence[Total]
    reasons: Sequence[Reason]
    endpoints: Sequence[Endpoint]
    keys: Sequence[ApiKey]
    errors: Sequence[tuple[str, int]]
    disputes: Sequence[Dispute]
    has_more_disputes: bool


def read(merchant: Merchant) -> Figures:
    """Work out a merchant's figures, in six statements."""
    now = clock.now()
    today = local_days.of(now, merchant.timezone)
    week = local_days.begins(today - timedelta(days=DAYS - 1), merchant.timezone)
    due = list(_due(merchant, now)[: NAMED_MOST + 1])
    return Figures(
        now,
        today,
        _totals(merchant, today, now),
        _reasons(merchant, week),
        list(_failing(merchant)[:NAMED_MOST]),
        _ending_keys(merchant),
        _errors(merchant, now),
        due[:NAMED_MOST],
        len(due) > NAMED_MOST,
    )


def _totals(merchant: Merchant, today: date, now: datetime) -> list[Total]:
    first = today - timedelta(days=2 * DAYS - 1)
    values: dict[str, Any] = {
        "merchant": merchant.id,
        "zone": merchant.timezone,
        "since": local_days.begins(first, merchant.timezone),
        "cut": now - timedelta(days=DAYS),
        "paid": [*PAID],
        "refused": [*REFUSED],
    }
    with connection.cursor() as cursor:
        cursor.execute(TOTALS, values)
        found = [Total(*row) for row in cursor.fetchall()]
    last_week = today - timedelta(days=DAYS)
    return [total._replace(is_late=total.is_late and total.day == last_week) for total in found]


def _reasons(merchant: Merchant, since: datetime) -> list[Reason]:
    rows = PaymentIntent.objects.for_merchant(merchant).filter(
        status__in=REFUSED, created_at__gte=since, last_payment_error__isnull=False
    )
    names = ("last_payment_error__code", "last_payment_error__decline_code")
    counted = rows.order_by().values_list(*names).annotate(times=Count("pk"))
    return [
        Reason({"code": code, "decline_code": decline}, times)
        for code, decline, times in counted.order_by("-times", *names)[:NAMED_MOST]
    ]


def _failing(merchant: Merchant) -> Any:
    rows = Endpoint.objects.for_merchant(merchant)
    return rows.filter(deleted_at=None, status=Endpoint.Status.FAILING).order_by("created_at", "id")


def _ending_keys(merchant: Merchant) -> list[ApiKey]:
    now = timezone.now()
    rows = ApiKey.objects.for_merchant(merchant).filter(
        revoked_at=None, expires_at__gt=now, expires_at__lte=now + KEYS_SOON
    )
    return list(rows.order_by("expires_at", "id")[:NAMED_MOST])


def _errors(merchant: Merchant, now: datetime) -> list[tuple[str, int]]:
    rows = RequestLog.objects.for_merchant(merchant).filter(
        status__gte=400, created_at__gte=now - timedelta(days=1), error_code__isnull=False
    )
    counted = rows.order_by().values_list("error_code").annotate(times=Count("pk"))
    return list(counted.order_by("-times", "error_code")[:NAMED_MOST])


def _due(merchant: Merchant, now: datetime) -> Any:
    rows = dispute_render.DISPUTES.for_merchant(merchant).filter(
        status__in=ANSWERABLE, evidence_due_by__gt=now, evidence_due_by__lte=now + DISPUTES_SOON
    )
    return rows.order_by("evidence_due_by", "id")


OLDEST = timedelta(minutes=1)
LIMIT_MS = 2_000
# Merchants whose figures a process keeps, those that were asked for last.
MERCHANTS_MOST = 500


# By the merchant's id, when they were worked out (movable clock, unix seconds), and the figures.
_kept: OrderedDict[str, tuple[float, Figures | None]] = OrderedDict()
_lock = Lock()


def of(merchant: Merchant) -> Figures | None:
    """Return a merchant's figures, at most a minute old; None if the database is not done in time.

    The clock is the movable one: figures of before it was moved are too old.
    """
    now = clock.now().timestamp()
    with _lock:
        known = _kept.get(merchant.id)
    if known and 0 <= now - known[0] < OLDEST.total_seconds():
        return known[1]
    found = _read(merchant)
    with _lock:
        _kept[merchant.id] = (now, found)
        _kept.move_to_end(merchant.id)
        while len(_kept) > MERCHANTS_MOST:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Let nothing be kept: tests change rows within the minute."""
    with _lock:
        _kept.clear()


def _read(merchant: Merchant) -> Figures | None:
    try:
        with limited(LIMIT_MS):
            return read(merchant)
    except TookTooLong:
        return None
