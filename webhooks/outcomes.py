"""What a lane does after an attempt: goes on, tries again later, or ends (contract 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
import structlog
from django.db import connection

from core import clock, ids
from webhooks import schedule
from webhooks.exchange import Answer
from webhooks.models import Delivery, Endpoint

log = structlog.get_logger(__name__)

# Only those whose count may change, in one order.
LOCK_ENDPOINTS = """
SELECT id, status, failures_in_a_row FROM webhooks_endpoint
WHERE id = ANY(%(endpoints)s) AND (failures_in_a_row > 0 OR id = ANY(%(failed)s))
ORDER BY id FOR NO KEY UPDATE
"""

COUNT = """
UPDATE webhooks_endpoint AS endpoint
SET failures_in_a_row = counted.failures,
    status = CASE WHEN counted.gives_up THEN 'failing' ELSE endpoint.status END,
    mail_due_at = CASE WHEN counted.gives_up THEN now() ELSE endpoint.mail_due_at END,
    replay_xid = CASE WHEN counted.gives_up THEN NULL ELSE endpoint.replay_xid END,
    replay_since = CASE WHEN counted.gives_up THEN NULL ELSE endpoint.replay_since END
FROM unnest(%(endpoints)s::text[], %(failures)s::int[], %(gives_up)s::boolean[])
    AS counted (id, failures, gives_up)
WHERE endpoint.id = counted.id
"""

# One text instead of an array for each column: psycopg writes arrays an element at a time.
# The lanes are locked, so that what follows on from an attempt fits into the same statement.
# A lane that has more goes on, and else ends: conditions on the row itself, so that a plan that
# waited for the lane finds it gone and makes a new one, or counts on. "Is there another?" would
# be answered from before the wait.
RECORD = """
WITH ended AS (
    DELETE FROM webhooks_lane WHERE id = ANY(%(over)s::bigint[]) AND open_count = 1
), gone_on AS (
    UPDATE webhooks_lane
    SET open_count = open_count - 1, due_at = %(now)s, lease_id = NULL, leased_until = NULL
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
            %(delays)s::int[], %(due)s::timestamptz[])
        AS again (lane_id, delivery_id, id, delay_seconds, due_at)
), planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    SELECT again.id, failed.merchant_id, failed.endpoint_id, failed.event_id, failed.event_type,
        failed.url, failed.lane_key, failed.aggregate_id, failed.sequence, failed.trigger,
        'pending', false, failed.attempt + 1, again.delay_seconds, again.due_at, %(now)s
    FROM again JOIN webhooks_delivery AS failed ON failed.id = again.delivery_id
)
UPDATE webhooks_lane SET due_at = again.due_at, lease_id = NULL, leased_until = NULL
FROM again WHERE webhooks_lane.id = again.lane_id
"""


@dataclass(frozen=True, slots=True)
class _Health:
    """An endpoint after this batch."""

    endpoint_id: str
    status: str
    failures: int
    gives_up: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """What follows from one attempt.

    :param delay_seconds: until the next attempt; None where there is none.
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
        took = timedelta(milliseconds=self.answer.duration_ms)
        return self.answer.attempted_at + took + timedelta(seconds=self.delay_seconds)


def write(answers: Sequence[Answer]) -> None:
    """Write the attempts, what comes next and how the endpoints are, all or nothing.

    Runs in the caller's transaction, which holds the lanes; endpoints are locked after lanes.
    """
    health = _judge([answer for answer in answers if not answer.claimed.is_resend])
    steps = [_Step(answer, _delay(answer, health)) for answer in answers]
    now = clock.now()
    _record(steps, now)
    if again := [step for step in steps if step.delay_seconds is not None]:
        _try_again(again, now)


def _delay(answer: Answer, health: dict[str, _Health]) -> int | None:
    claimed = answer.claimed
    if answer.is_success or claimed.is_resend:
        return None
    if health[claimed.endpoint_id].status != Endpoint.Status.ENABLED:
        return None
    return schedule.delay_after(claimed.attempt)


# --- The endpoints ----------------------------------------------------------------------------


def _judge(answers: Sequence[Answer]) -> dict[str, _Health]:
    """Count failures in a row and give up after a tenth one; return the endpoints it concerns."""
    if not answers:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            LOCK_ENDPOINTS,
            {
                "endpoints": list({answer.claimed.endpoint_id for answer in answers}),
                "failed": [answer.claimed.endpoint_id for answer in answers if answer.error],
            },
        )
        rows = cursor.fetchall()
        health = [_health(*row, answers) for row in rows]
        if health:
            cursor.execute(
                COUNT,
                {
                    "endpoints": [endpoint.endpoint_id for endpoint in health],
                    "failures": [endpoint.failures for endpoint in health],
                    "gives_up": [endpoint.gives_up for endpoint in health],
                },
            )
    return {endpoint.endpoint_id: endpoint for endpoint in health}


def _health(endpoint_id: str, status: str, failures: int, answers: Sequence[Answer]) -> _Health:
    gives_up = False
    for answer in answers:
        if answer.claimed.endpoint_id != endpoint_id:
            continue
        failures = 0 if answer.is_success else failures + 1
        is_last = answer.claimed.attempt == schedule.MAX_ATTEMPTS
        gives_up |= is_last and not answer.is_success and status == Endpoint.Status.ENABLED
    if gives_up:
        log.warning("webhook_endpoint_failing", endpoint=endpoint_id)
        status = Endpoint.Status.FAILING
    return _Health(endpoint_id, status, failures, gives_up)


# --- The deliveries and their lanes -----------------------------------------------------------


def _record(steps: list[_Step], now: datetime) -> None:
    """Write the attempts down, and let what waits behind those that are over be sent."""
    over = [step.answer.claimed.lane_id for step in steps if step.delay_seconds is None]
    went = orjson.dumps([_facts(step) for step in steps]).decode()
    with connection.cursor() as cursor:
        cursor.execute(RECORD, {"went": went, "over": over, "now": now})


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
    with connection.cursor() as cursor:
        cursor.execute(
            TRY_AGAIN,
            {
                "lanes": [step.answer.claimed.lane_id for step in steps],
                "deliveries": [step.answer.claimed.delivery_id for step in steps],
                "ids": [ids.new("whd") for _ in steps],
                "delays": [step.delay_seconds for step in steps],
                "due": [step.due_at for step in steps],
                "now": now,
            },
        )
