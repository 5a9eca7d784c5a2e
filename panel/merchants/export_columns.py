"""The columns of each export: the API's field names, `id` first (panel contract: Exports).

A part of an object has its way as a name: `card.last4`. Bodies of requests stay on the request's
own page: 100,000 of them would be gigabytes.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from api import request_logs
from core import money
from events.models import Event
from merchants.models import AuditEntry, Member, RequestLog
from panel.merchants.audit_log import HOUSE, as_shown
from payments.customers import render as customer_render
from payments.customers.models import Customer
from payments.intents import render as intent_render
from payments.intents.models import PaymentIntent

Cells = Callable[[Member, Sequence[Any]], Iterable[Sequence[Any]]]

PAYMENTS = (
    "id", "created", "status", "amount", "amount_major", "currency", "surcharge",
    "amount_received", "amount_capturable", "captured_minor", "refunded_minor",
    "amount_refundable", "capture_method", "installments", "card.brand", "card.bin", "card.last4",
    "card.card_type", "card.domestic", "three_d_secure.requested", "three_d_secure.effective",
    "fraud.status", "fraud.risk_level", "last_payment_error", "customer", "description",
    "latest_attempt", "canceled_at", "cancellation_reason", "metadata", "livemode",
)  # fmt: skip
CUSTOMERS = (
    "id", "created", "email", "name", "phone", "description", "address", "shipping",
    "default_currency", "preferred_locales", "metadata", "livemode",
)  # fmt: skip
REQUEST_LOGS = (
    "id", "created", "kind", "method", "path", "query", "status", "duration_ms", "api_key",
    "idempotency_key", "original_request", "object_id", "ip", "api_version", "error_code",
    "livemode",
)  # fmt: skip
EVENTS = (
    "id", "created", "type", "aggregate_type", "aggregate_id", "sequence", "request_id",
    "api_version", "data", "livemode",
)  # fmt: skip
AUDIT_LOG = (
    "id", "created", "action", "actor", "actor_id", "actor_name", "subject", "address",
    "request_id", "before", "after", "reason",
)  # fmt: skip
# Unix seconds in the API.
INSTANTS = frozenset({"created", "canceled_at"})


def payments(_member: Member, rows: Sequence[PaymentIntent]) -> Iterable[Sequence[Any]]:
    for row in rows:
        body = intent_render.payment_intent(row)
        body["amount_major"] = money.major(row.amount, row.currency)
        yield _picked(body, PAYMENTS)


def customers(_member: Member, rows: Sequence[Customer]) -> Iterable[Sequence[Any]]:
    return (_picked(customer_render.customer(row), CUSTOMERS) for row in rows)


def logs(_member: Member, rows: Sequence[RequestLog]) -> Iterable[Sequence[Any]]:
    for row in rows:
        # Not read, so that a page of rows stays small.
        row.request_body = row.response_body = None
        yield _picked(request_logs.shown(row), REQUEST_LOGS)


def events(_member: Member, rows: Sequence[Event]) -> Iterable[Sequence[Any]]:
    return (_picked(orjson.loads(bytes(row.body)), EVENTS) for row in rows)


def audit_entries(member: Member, rows: Sequence[AuditEntry]) -> Iterable[Sequence[Any]]:
    """Return the cells of audit rows; all operators look the same, without their reasons."""
    for row in as_shown(member, rows):
        entry = row.entry
        is_of_the_house = entry.actor in HOUSE
        yield (
            entry.id, utc(entry.created_at), entry.action, entry.actor,
            None if is_of_the_house else entry.actor_id,
            None if is_of_the_house else entry.actor_name,
            row.subject, row.address, entry.request_id, entry.before, entry.after,
            None if is_of_the_house else entry.reason,
        )  # fmt: skip


def utc(moment: datetime) -> str:
    """Return a moment as every cell has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _picked(body: dict[str, Any], columns: Sequence[str]) -> list[Any]:
    return [_value(body, name) for name in columns]


def _value(body: dict[str, Any], name: str) -> Any:
    whole, _, part = name.partition(".")
    value = body.get(whole)
    if part:
        return (value or {}).get(part)
    if name in INSTANTS and value is not None:
        return utc(datetime.fromtimestamp(value, UTC))
    return value
