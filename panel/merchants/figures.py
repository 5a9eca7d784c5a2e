"""The figures of the overview besides its charts: open tasks, and requests that failed."""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.utils import timezone

from core import clock
from merchants.models import ApiKey, Merchant, RequestLog
from panel.patience import TookTooLong, limited
from payments.disputes import render as dispute_render
from payments.disputes.models import Dispute
from payments.disputes.states import ANSWERABLE
from webhooks import health
from webhooks.health import Waiting
from webhooks.models import Endpoint

# Keys that end within so many days (real time), and disputes that are due (movable clock).
KEYS_SOON, DISPUTES_SOON = timedelta(days=14), timedelta(days=7)
# Rows that are named; more are reached by the lists.
NAMED_MOST = 5


class Figures(NamedTuple):
    """All of a merchant's; `at` is when they were worked out, in the movable clock.

    :param endpoints: that fail or are in trouble; `waiting` has the events that wait for them.
    """

    at: datetime
    endpoints: Sequence[Endpoint]
    waiting: dict[str, Waiting]
    keys: Sequence[ApiKey]
    errors: Sequence[tuple[str, int]]
    disputes: Sequence[Dispute]
    has_more_disputes: bool


def read(merchant: Merchant) -> Figures:
    """Work out a merchant's figures, in four statements; one more if an endpoint is in trouble."""
    now = clock.now()
    endpoints = list(_failing(merchant)[:NAMED_MOST])
    due = list(_due(merchant, now)[: NAMED_MOST + 1])
    return Figures(
        now,
        endpoints,
        health.waiting(endpoints) if endpoints else {},
        _ending_keys(merchant),
        _errors(merchant, now),
        due[:NAMED_MOST],
        len(due) > NAMED_MOST,
    )


def _failing(merchant: Merchant) -> Any:
    rows = Endpoint.objects.for_merchant(merchant)
    in_trouble = Q(status=Endpoint.Status.ENABLED, troubled_at__isnull=False)
    wrong = rows.filter(Q(status=Endpoint.Status.FAILING) | in_trouble, deleted_at=None)
    return wrong.order_by("created_at", "id")


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
