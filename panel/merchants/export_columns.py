"""The columns of each export: the API's field names, `id` first (panel contract: Exports).

A part of an object has its way as a name: `card.last4`. Bodies of requests stay on the request's
own page: 100,000 of them would be gigabytes.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from api import request_logs
from core import local_days, money
from events.models import Event
from ledger import transactions
from ledger.models import Movement
from merchants.models import AuditEntry, Member, RequestLog
from panel.merchants import payment_books, row_words
from panel.merchants.audit_log import HOUSE, as_shown
from panel.merchants.csv_forms import INSTANTS
from payments.customers import render as customer_render
from payments.customers.models import Customer
from payments.disputes import render as dispute_render
from payments.disputes.models import Dispute
from payments.intents import render as intent_render
from payments.intents.models import PaymentIntent
from payments.refunds import render as refund_render
from payments.refunds.models import Refund
from payouts import render as payout_render
from payouts.models import Payout
from payouts.topups import render as topup_render
from payouts.topups.models import Topup

Cells = Callable[[Member, Sequence[Any]], Iterable[Sequence[Any]]]

PAYMENTS = (
    "id", "created", "status", "amount", "amount_major", "currency", "surcharge",
    "amount_received", "amount_capturable", "captured_minor", "refunded_minor",
    "amount_refundable", "capture_method", "installments", "card.brand", "card.bin", "card.last4",
    "card.card_type", "card.domestic", "three_d_secure.requested", "three_d_secure.effective",
    "fraud.status", "fraud.risk_level", "last_payment_error", "customer", "description",
    "latest_attempt", "canceled_at", "cancellation_reason", "metadata", "livemode", "fee", "net",
    "available_on", "settlements", "payer.name", "payer.email",
)  # fmt: skip
REFUNDS = (
    "id", "created", "status", "amount", "amount_major", "currency", "payment_intent", "attempt",
    "method", "reason", "description", "failure_reason", "pending_reason", "reference", "metadata",
    "livemode",
)  # fmt: skip
DISPUTES = (
    "id", "created", "status", "amount", "amount_major", "currency", "payment_intent", "attempt",
    "reason", "network_reason_code", "evidence_due_by", "evidence_details", "evidence",
    "is_payment_refundable", "metadata", "livemode",
)  # fmt: skip
PAYOUTS = (
    "id", "created", "status", "amount", "amount_major", "currency", "arrival_date", "automatic",
    "method", "destination", "description", "statement_descriptor", "failure_code",
    "failure_message", "trace_id", "metadata", "livemode",
)  # fmt: skip
TOPUPS = (
    "id", "created", "status", "amount", "amount_major", "currency", "expected_availability_date",
    "source.reference", "description", "failure_code", "failure_message", "initiated_by",
    "metadata", "livemode",
)  # fmt: skip
MOVEMENTS = (
    "id", "created", "type", "source", "amount", "amount_major", "fee", "net", "net_major",
    "currency", "available_on", "status", "description", "livemode",
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
# Moments are unix seconds in the API.
# Unix seconds too: the beginning of a day of the merchant's.
DAYS = frozenset({"arrival_date", "expected_availability_date", "available_on"})


def payments(member: Member, rows: Sequence[PaymentIntent]) -> Iterable[Sequence[Any]]:
    zone = member.merchant.timezone
    books, payers = payment_books.of(member, rows), row_words.payers(member, rows)
    for row in rows:
        body = {**intent_render.payment_intent(row), **books.get(row.id, {})}
        body["payer"] = payers[row.id]
        yield _picked(_with_major(body), PAYMENTS, zone)


def refunds(member: Member, rows: Sequence[Refund]) -> Iterable[Sequence[Any]]:
    return _objects(member, map(refund_render.refund, rows), REFUNDS)


def disputes(member: Member, rows: Sequence[Dispute]) -> Iterable[Sequence[Any]]:
    return _objects(member, map(dispute_render.dispute, rows), DISPUTES)


def payouts(member: Member, rows: Sequence[Payout]) -> Iterable[Sequence[Any]]:
    return _objects(member, map(payout_render.payout, rows), PAYOUTS)


def topups(member: Member, rows: Sequence[Topup]) -> Iterable[Sequence[Any]]:
    return _objects(member, map(topup_render.topup, rows), TOPUPS)


def movements(member: Member, rows: Sequence[Movement]) -> Iterable[Sequence[Any]]:
    return _objects(member, transactions.shown(rows, member.merchant), MOVEMENTS)


def _objects(
    member: Member, bodies: Iterable[dict[str, Any]], columns: Sequence[str]
) -> Iterable[Sequence[Any]]:
    zone = member.merchant.timezone
    return (_picked(_with_major(body), columns, zone) for body in bodies)


def _with_major(body: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its amount, and its net if it has one, in major units too."""
    return body | {
        f"{name}_major": money.major(body[name], body["currency"])
        for name in ("amount", "net")
        if body.get(name) is not None
    }


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


def _picked(body: dict[str, Any], columns: Sequence[str], zone: str = "UTC") -> list[Any]:
    return [_value(body, name, zone) for name in columns]


def _value(body: dict[str, Any], name: str, zone: str) -> Any:
    whole, _, part = name.partition(".")
    value = body.get(whole)
    if part:
        return (value or {}).get(part)
    if name in INSTANTS and value is not None:
        return utc(datetime.fromtimestamp(value, UTC))
    if name in DAYS and value is not None:
        return local_days.of(datetime.fromtimestamp(value, UTC), zone).isoformat()
    return value
