"""Metrics that the database and Redis know, read by one process for the whole installation.

A look takes a bounded time, and its answer counts for a few seconds: any number of questions at
once cost one look.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from audit import figures
from cases.models import Case
from cases.states import CaseKind, CaseStatus
from core import clock, context, heartbeat, installation, redis
from vault import peers
from webhooks.models import Endpoint, Lane

FRESH_SECONDS = 5.0
STATEMENT_BOUND = "SET LOCAL statement_timeout = '2s'; SET TRANSACTION READ ONLY"

Families = Iterator[GaugeMetricFamily]
log = structlog.get_logger(__name__)


class Gauges:
    """A collector of the library's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: list[GaugeMetricFamily] = []
        self._looked_at = float("-inf")

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the figures of now, or of a few seconds ago."""
        with self._lock:
            if time.monotonic() - self._looked_at > FRESH_SECONDS:
                self._found = list(_look())
                self._looked_at = time.monotonic()
            return self._found


def _look() -> Families:
    database = _seen("database", DatabaseError, _of_database)
    rounds = _seen("redis", redis.Away, _rounds)
    up = GaugeMetricFamily(
        "pay_figures_up", "Whether the source of the figures below answered.", labels=["source"]
    )
    up.add_metric(["database"], float(database is not None))
    up.add_metric(["redis"], float(rounds is not None))
    yield up
    yield from database or []
    yield from rounds or []


def _seen(
    source: str, failure: type[Exception], look: Callable[[], Families]
) -> list[GaugeMetricFamily] | None:
    try:
        return list(look())
    except failure as problem:
        log.warning("figures_missed", source=source, reason=type(problem).__name__)
        return None


def _of_database() -> Families:
    try:
        with context.work(), transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute(STATEMENT_BOUND)
            yield _held()
            yield from _processes()
            yield from _waiting()
            yield from _cases()
            yield from _clocks()
    finally:
        connection.close()


def _held() -> GaugeMetricFamily:
    held = _family("pay_installation_held", "Whether the database is held as a copy.")
    held.add_metric([], float(installation.is_held()))
    return held


def _processes() -> Families:
    found = figures.processes()
    living = _family("pay_processes", "Processes seen within a minute.", "kind")
    for kind in heartbeat.KINDS:
        living.add_metric([kind], found[kind].number if kind in found else 0)
    releases = _family("pay_processes_of_release", "The same, by release.", "release")
    keys = _family("pay_processes_of_key", "Living processes, by the key they seal with.", "key")
    for family, column in ((releases, "release"), (keys, "primary_key_id")):
        rows = peers.living().values_list(column).annotate(count=Count("id"))
        for name, count in rows.order_by(column):
            family.add_metric([name], count)
    yield from (living, releases, keys)


def _waiting() -> Families:
    lanes = _family("pay_webhook_lanes", "Objects with deliveries that are not made yet.")
    lanes.add_metric([], Lane.objects.count())
    due = _family(
        "pay_webhook_due_seconds",
        "Age of the oldest due delivery that waits for a sender; 0: none.",
    )
    due.add_metric([], figures.unserved_seconds() or 0)
    endpoints = _family("pay_webhook_endpoints", "Endpoints of merchants.", "status")
    counts = dict(
        Endpoint.objects.filter(deleted_at=None)
        .values_list("status")
        .annotate(count=Count("id"))
        .order_by()
    )
    for status in Endpoint.Status.values:
        endpoints.add_metric([status], counts.get(status, 0))
    unknown = _family(
        "pay_unknown_outcome_seconds", "Age of the oldest question to a bank; 0: none.", "kind"
    )
    ages = figures.unknown_seconds()
    for prefix in figures.unknown_kinds():
        unknown.add_metric([prefix], ages.get(prefix, 0))
    payout = _family("pay_payout_due_seconds", "Age of the oldest payout that is due; 0: none.")
    payout.add_metric([], figures.payout_due_seconds() or 0)
    yield from (lanes, due, endpoints, unknown, payout)


def _cases() -> Families:
    count = _family("pay_cases_open", "Cases that wait for a person.", "kind")
    oldest = _family("pay_case_oldest_seconds", "Age of the oldest open case; 0: none.", "kind")
    rows = Case.objects.filter(status=CaseStatus.OPEN).values("kind").order_by()
    found = {row["kind"]: row for row in rows.annotate(n=Count("id"), since=Min("opened_at"))}
    for kind in CaseKind.values:
        row = found.get(kind)
        count.add_metric([kind], row["n"] if row else 0)
        age = (clock.now() - row["since"]).total_seconds() if row else 0
        oldest.add_metric([kind], age)
    yield from (count, oldest)
    audit = _family("pay_clean_audit_seconds", "Time since the last clean audit.")
    seconds = figures.clean_audit_seconds()
    if seconds is not None:
        audit.add_metric([], seconds)
    yield audit


def _clocks() -> Families:
    moved = _family("pay_clock_moved_seconds", "How far a sandbox's clock was moved forward.")
    moved.add_metric([], clock.offset_seconds())
    apart = _family("pay_clock_difference_seconds", "The database's clock, less this host's.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        apart.add_metric([], (cursor.fetchone()[0] - timezone.now()).total_seconds())
    yield from (moved, apart)


def _rounds() -> Families:
    ago = _family("pay_task_round_seconds", "Time since a task's last round ended well.", "task")
    every = _family("pay_task_every_seconds", "Time between two rounds of a task.", "task")
    for task, seconds in figures.task_seconds().items():
        ago.add_metric([task], seconds)
    for task, seconds in figures.every_seconds().items():
        every.add_metric([task], seconds)
    yield from (ago, every)


def _family(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, labels=labels)
