"""Outcomes of attempts: a lane goes on to its next delivery, tries again, or ends (contract 9)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import orjson
import structlog
from django.conf import settings
from django.db import transaction

from core import clock, ids, prepared, traces
from core.metrics import Counter, Histogram, Label, is_on
from core.prepared import array
from webhooks.delivery.messages import ERRORS, Answer
from webhooks.models import Delivery, Endpoint

# An answer is slow if it took a fifth of the time-out or longer. Its endpoint then counts as
# degraded for a minute, because slow receivers would otherwise come to hold all slots.
SLOW_PART = 5
# The wait before each attempt after the first, in seconds. No jitter: the delays are the spec's.
DELAYS_SECONDS = (60, 300, 1800, 7200, 21600, 43200, 86400, 86400, 86400)
MAX_ATTEMPTS = len(DELAYS_SECONDS) + 1
# The failed attempt of an event from which its endpoint is in trouble: 36 minutes after the first.
TROUBLE_FROM = 4
ON = Endpoint.Status.ENABLED

DELIVERED = Counter(
    "pay_webhook_attempts_total",
    "Attempts to deliver a webhook, by how they ended.",
    result=Label("succeeded", *ERRORS),
)
LAG = Histogram(
    "pay_webhook_lag_seconds",
    "Time from a change to the first byte of its first delivery.",
    ranges=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600),
)

log = structlog.get_logger(__name__)

# Only endpoints whose count may change are locked, and those that another transaction holds are
# skipped. This transaction holds lanes of many merchants: while it waited for an endpoint, their
# deliveries would wait, and payments that plan deliveries in these lanes.
LOCK_ENDPOINTS = """
WITH concerned AS MATERIALIZED (
    SELECT id FROM webhooks_endpoint
    WHERE id = ANY(%(endpoints)s::text[]) AND (
        failures_in_a_row > 0 OR id = ANY(%(failed)s::text[])
        OR id = ANY(%(slow)s::text[])
            AND (slow_until IS NULL OR slow_until < now() + interval '30 s'))
), locked AS MATERIALIZED (
    SELECT id, status, failures_in_a_row FROM webhooks_endpoint
    WHERE id = ANY(ARRAY(SELECT id FROM concerned)) FOR NO KEY UPDATE SKIP LOCKED
)
SELECT concerned.id, locked.status, locked.failures_in_a_row
FROM concerned LEFT JOIN locked ON locked.id = concerned.id
"""

# Some events may fail while others succeed: trouble that comes and goes is mailed once a day.
IS_MAILED = """counted.is_troubled AND endpoint.troubled_at IS NULL
        AND coalesce(endpoint.trouble_mailed_at <= %(now)s::timestamptz - interval '24 h', true)"""
COUNT = f"""
UPDATE webhooks_endpoint AS endpoint
SET failures_in_a_row = counted.failures,
    status = CASE WHEN counted.gives_up THEN 'failing' ELSE endpoint.status END,
    slow_until = CASE WHEN endpoint.id = ANY(%(slow)s::text[]) THEN now() + interval '60 s'
        ELSE endpoint.slow_until END,
    mail_due_at = CASE WHEN counted.gives_up OR {IS_MAILED} THEN now()
        ELSE endpoint.mail_due_at END,
    trouble_mailed_at = CASE WHEN {IS_MAILED} THEN %(now)s::timestamptz
        ELSE endpoint.trouble_mailed_at END,
    troubled_at = CASE WHEN counted.is_troubled
        THEN coalesce(endpoint.troubled_at, %(now)s::timestamptz)
        WHEN counted.is_well THEN NULL ELSE endpoint.troubled_at END,
    replay_xid = CASE WHEN counted.gives_up THEN NULL ELSE endpoint.replay_xid END,
    replay_since = CASE WHEN counted.gives_up THEN NULL ELSE endpoint.replay_since END
FROM unnest(%(endpoints)s::text[], %(failures)s::int[], %(gives_up)s::boolean[],
    %(is_troubled)s::boolean[], %(is_well)s::boolean[])
    AS counted (id, failures, gives_up, is_troubled, is_well)
WHERE endpoint.id = counted.id
"""  # noqa: S608

# The attempts come as one JSON text instead of an array for each column. The lanes are locked, so
# the same statement moves them on: a lane with more deliveries is due now, another one ends. Both
# conditions are on the lane's own row. A transaction that plans a delivery, and waited for the
# lane, then finds it gone and makes a new one, or adds to its count. A subquery ("is there another
# delivery?") would answer with the state before the wait.
RECORD = """
WITH ended AS (
    DELETE FROM webhooks_lane WHERE id = ANY(%(over)s::bigint[]) AND open_count = 1
), gone_on AS (
    UPDATE webhooks_lane
    SET open_count = open_count - 1, due_at = %(now)s::timestamptz,
        lease_id = NULL, leased_until = NULL
    WHERE id = ANY(%(over)s::bigint[]) AND open_count > 1
)
UPDATE webhooks_delivery AS delivery
SET status = went.status, is_missed = went.is_missed, url = went.url,
    attempted_at = went.attempted_at, duration_ms = went.duration_ms,
    response_status = went.response_status, response_excerpt = went.response_excerpt,
    error = went.error, next_attempt_at = went.next_attempt_at
FROM json_to_recordset(%(went)s::json) AS went (
    id text, status text, is_missed boolean, url text, attempted_at timestamptz,
    duration_ms int, response_status int, response_excerpt text, error text,
    next_attempt_at timestamptz)
WHERE delivery.id = went.id AND delivery.status = 'pending'
"""

TRY_AGAIN = """
WITH again AS (
    SELECT * FROM unnest(%(lanes)s::bigint[], %(deliveries)s::text[], %(ids)s::text[],
            %(attempts)s::int[], %(delays)s::int[], %(due)s::timestamptz[])
        AS again (lane_id, delivery_id, id, attempt, delay_seconds, due_at)
), planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    SELECT again.id, failed.merchant_id, failed.endpoint_id, failed.event_id, failed.event_type,
        failed.url, failed.lane_key, failed.aggregate_id, failed.sequence, failed.trigger,
        'pending', false, again.attempt, again.delay_seconds, again.due_at,
        %(now)s::timestamptz
    FROM again JOIN webhooks_delivery AS failed ON failed.id = again.delivery_id
)
UPDATE webhooks_lane SET due_at = again.due_at, lease_id = NULL, leased_until = NULL
FROM again WHERE webhooks_lane.id = again.lane_id
"""


@dataclass(frozen=True, slots=True)
class _Health:
    """An endpoint's status and failures in a row, after these answers.

    :param is_troubled: a fourth or later attempt failed, and nothing succeeded after it; not if the
        endpoint is off by now.
    :param is_well: something succeeded, and no such attempt failed after it.
    """

    endpoint_id: str
    status: str
    failures: int
    gives_up: bool
    is_troubled: bool = False
    is_well: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """The consequence of one attempt: its status, and the wait before the next one.

    :param delay_seconds: None if there is no next attempt.
    """

    answer: Answer
    delay_seconds: int | None

    @property
    def status(self) -> str:
        done = self.answer.is_success
        return Delivery.Status.SUCCEEDED if done else Delivery.Status.FAILED

    @property
    def is_missed(self) -> bool:
        is_over = not self.answer.is_success and self.delay_seconds is None
        return is_over and not self.answer.claimed.is_resend

    @property
    def due_at(self) -> datetime | None:
        if self.delay_seconds is None:
            return None
        if self.answer.is_early:  # The schedule goes on as if it had not been.
            return self.answer.claimed.scheduled_at
        took = timedelta(milliseconds=self.answer.duration_ms)
        return self.answer.attempted_at + took + timedelta(seconds=self.delay_seconds)


def write(answers: Sequence[Answer]) -> list[int]:
    """Write attempts, next attempts, lanes and endpoints' failure counts, all or nothing.

    Runs in the caller's transaction, which holds the lanes; endpoints are locked after lanes.

    :return: the lanes whose attempt is written; those of endpoints that another transaction holds
        are left out.
    """
    health, held = _count_failures([answer for answer in answers if not answer.claimed.is_resend])
    steps = [_Step(answer, _delay(answer, health)) for answer in _without(held, answers)]
    if not steps:
        return []
    now = clock.now()
    _record(steps, now)
    if is_on() or traces.is_on():
        transaction.on_commit(partial(_count, steps, now))
    if again := [step for step in steps if step.delay_seconds is not None]:
        _try_again(again, now)
    return [step.answer.claimed.lease.lane_id for step in steps]


def _count(steps: Sequence[_Step], now: datetime) -> None:
    for step in steps:
        answer = step.answer
        DELIVERED.count(answer.error or "succeeded")
        if answer.claimed.attempt == 1 and not answer.claimed.is_resend:
            lag = answer.attempted_at - answer.claimed.planned_at
            LAG.note(max(0.0, lag.total_seconds()))
        if traces.is_on():
            traces.note_alone(_span(answer, now))


def _span(answer: Answer, now: datetime) -> traces.Span:
    # Real time: `attempted_at` is of the movable clock, as `now` is.
    began_at = time.time() - (now - answer.attempted_at).total_seconds()
    facts: dict[str, traces.Fact] = {
        "status": answer.status, "error": answer.error, "result": answer.error or "succeeded",
        "attempt": answer.claimed.attempt, "event_id": answer.claimed.event_id,
        "delivery_id": answer.claimed.delivery_id,
    }  # fmt: skip
    seconds = answer.duration_ms / 1000
    return traces.Span("webhook", "client", began_at, seconds, not answer.is_success, facts)


def _without(held: set[str], answers: Sequence[Answer]) -> list[Answer]:
    return [one for one in answers if one.claimed.is_resend or one.claimed.endpoint_id not in held]


def _delay(answer: Answer, health: dict[str, _Health]) -> int | None:
    claimed = answer.claimed
    if answer.is_success or claimed.is_resend:
        return None
    if health[claimed.endpoint_id].status != ON:
        return None
    return _delay_after(answer.tries)


def _delay_after(tries: int) -> int | None:
    """Return the seconds to wait after failed attempts (contract 9); None after the tenth."""
    return (0, *DELAYS_SECONDS)[tries] if tries < MAX_ATTEMPTS else None


# --- The endpoints ----------------------------------------------------------------------------


def _count_failures(answers: Sequence[Answer]) -> tuple[dict[str, _Health], set[str]]:
    """Count endpoints' failures in a row; one of which a tenth attempt failed becomes `failing`.

    :return: the endpoints whose count may have changed, and the ids of those that could not be
        counted because another transaction holds them.
    """
    rows = _locked(answers) if answers else []
    health = [_health(*row, answers) for row in rows if row[1] is not None]
    if health:
        prepared.run(
            COUNT,
            {
                "slow": array(_slow(answers)),
                "endpoints": array(endpoint.endpoint_id for endpoint in health),
                "failures": array(endpoint.failures for endpoint in health),
                "gives_up": array(endpoint.gives_up for endpoint in health),
                "is_troubled": array(endpoint.is_troubled for endpoint in health),
                "is_well": array(endpoint.is_well for endpoint in health),
                "now": clock.now(),
            },
        )
    held = {endpoint_id for endpoint_id, status, _failures in rows if status is None}
    return {endpoint.endpoint_id: endpoint for endpoint in health}, held


def _locked(answers: Sequence[Answer]) -> list[tuple[str, str, int]]:
    return prepared.rows(
        LOCK_ENDPOINTS,
        {
            "endpoints": array({answer.claimed.endpoint_id for answer in answers}),
            "failed": array(answer.claimed.endpoint_id for answer in answers if answer.error),
            "slow": array(_slow(answers)),
        },
    )


def _slow(answers: Sequence[Answer]) -> list[str]:
    limit_ms = settings.WEBHOOK_TIMEOUT_SECONDS * 1000 / SLOW_PART
    return [one.claimed.endpoint_id for one in answers if one.duration_ms >= limit_ms]


def _health(endpoint_id: str, status: str, failures: int, answers: Sequence[Answer]) -> _Health:
    gives_up = is_troubled = is_well = False
    for answer in answers:
        if answer.claimed.endpoint_id != endpoint_id:
            continue
        is_well = answer.is_success or is_well and answer.tries < TROUBLE_FROM
        is_troubled = not answer.is_success and (
            is_troubled or status == ON and answer.tries >= TROUBLE_FROM
        )
        failures = 0 if answer.is_success else failures + 1
        is_last = answer.tries == MAX_ATTEMPTS
        gives_up |= is_last and not answer.is_success and status == ON
    if gives_up:
        log.warning("webhook_endpoint_failing", endpoint=endpoint_id)
        status = Endpoint.Status.FAILING
    return _Health(endpoint_id, status, failures, gives_up, is_troubled, is_well)


# --- The deliveries and their lanes -----------------------------------------------------------


def _record(steps: list[_Step], now: datetime) -> None:
    """Write the attempts down; lanes whose delivery is over go on to the next one, or end."""
    over = array(step.answer.claimed.lease.lane_id for step in steps if step.delay_seconds is None)
    went = orjson.dumps([_facts(step) for step in steps]).decode()
    prepared.run(RECORD, {"went": went, "over": over, "now": now})


def _facts(step: _Step) -> dict[str, object]:
    answer = step.answer
    return {
        "id": answer.claimed.delivery_id,
        "status": step.status,
        "is_missed": step.is_missed,
        "url": answer.claimed.url,
        "attempted_at": answer.attempted_at,
        "duration_ms": answer.duration_ms,
        "response_status": answer.status,
        "response_excerpt": answer.excerpt,
        "error": answer.error,
        "next_attempt_at": step.due_at,
    }


def _try_again(steps: list[_Step], now: datetime) -> None:
    prepared.run(
        TRY_AGAIN,
        {
            "lanes": array(step.answer.claimed.lease.lane_id for step in steps),
            "deliveries": array(step.answer.claimed.delivery_id for step in steps),
            "ids": array(ids.new("whd") for _ in steps),
            "attempts": array(step.answer.tries + 1 for step in steps),
            "delays": array(step.delay_seconds for step in steps),
            "due": array(str(step.due_at).replace(" ", "T") for step in steps),
            "now": now,
        },
    )
