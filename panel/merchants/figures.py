"""The figures of the overview besides its charts: open tasks, and requests that failed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.utils import timezone

from core import clock
from merchants.models import ApiKey, Merchant, RequestLog
from panel.kept_figures import KeptFigures
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


LIMIT_MS = 2_000

_kept = KeptFigures[Figures]()
forget = _kept.forget


def of(merchant: Merchant) -> Figures | None:
    """Return a merchant's figures, at most a minute old; None if they take too long."""
    return _kept.of(merchant.id, partial(read, merchant), limit_ms=LIMIT_MS)
