"""A merchant's payments, request logs, events and deliveries, so many of each.

Every eleventh row is a neighbour's. Each number of a row draws the same facts in each run, so that
two runs read the same rows.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.db import connection

from acquirers import references
from acquirers.models import Terminal
from bench import (
    in_bulk,
    installation,  # noqa: F401
    panel_full,
)
from bench.neighbours import merchant_made
from core import clock, ids
from core.cards import CardData
from ledger.models import Run
from merchants.models import Invitation, Member, Merchant, User
from payments.customers.models import Customer
from payments.disputes.models import Dispute
from payments.disputes.states import DisputeStatus, Reason
from payments.intents.models import Attempt, PaymentIntent
from payouts.models import Payout
from payouts.topups.models import Topup
from vault import cards
from webhooks.models import Endpoint

# So many rows have what few have.
RARE_ROWS = 50
ENDPOINTS_MORE = 15
# The simulated bank charges it without any question (contract 11).
TEST_CARD = "4242424242424242"
# A key that few requests came with, and that is gone since.
OLD_KEY = "key_" + "1" * 24

# Each `n` is a row, and `total` of them are made; ids are in the order of their time.
AN_ID = "lpad(n::text, 24, '0')"
MERCHANT = "CASE WHEN n %% 11 = 0 THEN %(neighbour)s ELSE %(merchant)s END"
ENDPOINT = "CASE WHEN n %% 11 = 0 THEN %(theirs)s ELSE %(endpoint)s END"
IS_RARE = "n %% %(rare)s = 7"


def _at(days: int) -> str:
    return f"%(now)s - interval '{days} days' * ((%(total)s - n) / %(total)s::float8)"


IS_PAID = f"n %% 10 < 8 AND NOT {IS_RARE}"
AMOUNT = "100 + n::bigint * 7919 %% 499900"
PAYMENTS = {
    "id": f"'pi_' || {AN_ID}",
    "merchant_id": MERCHANT,
    "status": (
        f"CASE WHEN {IS_RARE} THEN 'processing' WHEN n %% 10 < 8 THEN 'succeeded'"
        " WHEN n %% 10 = 8 THEN 'canceled' ELSE 'requires_payment_method' END"
    ),
    "capture_method": "CASE WHEN n %% 20 = 0 THEN 'manual' ELSE 'automatic' END",
    "currency": f"CASE WHEN {IS_RARE} THEN 'gbp' WHEN n %% 17 = 0 THEN 'eur' ELSE 'try' END",
    "amount": AMOUNT,
    **dict.fromkeys(
        ("authorized_minor", "captured_minor"), f"CASE WHEN {IS_PAID} THEN {AMOUNT} ELSE 0 END"
    ),
    **dict.fromkeys(
        ("surcharge", "amount_capturable", "captured_surcharge", "refunded_minor",
         "disputed_minor"), "0"
    ),
    "installments": "1",
    "description": "'Order ' || n",
    "metadata": "'{}'",
    "billing_details": (
        """jsonb_build_object('name', 'Ayşe Yılmaz', 'email',"""
        """ 'customer' || n %% 70001 || '@example.com')"""
    ),
    "card": (
        """'{"brand": "visa", "bin": "424242", "last4": "4242", "masked": "424242******4242","""
        """ "exp_month": 12, "exp_year": 2040, "card_type": "credit", "domestic": false}'"""
    ),
    "three_d_secure_requested": "'automatic'",
    "three_d_secure_effective": "'automatic'",
    "attempt_ids": "'[]'",
    "line_item_ids": "'[]'",
    "created_at": _at(730),
}  # fmt: skip
IS_REFUSED = "n %% 30 = 4"
REQUESTS = {
    "id": f"'req_' || {AN_ID}",
    "merchant_id": MERCHANT,
    "kind": f"CASE WHEN {IS_RARE} THEN 'panel' ELSE 'api' END",
    "method": f"CASE WHEN {IS_RARE} THEN 'DELETE' WHEN n %% 2 = 0 THEN 'GET' ELSE 'POST' END",
    "path": (
        f"CASE WHEN {IS_RARE} THEN '/v1/customers/cus_' || {AN_ID}"
        f" WHEN n %% 2 = 0 THEN '/v1/payment_intents/pi_' || {AN_ID}"
        " ELSE '/v1/payment_intents' END"
    ),
    "status": f"CASE WHEN {IS_RARE} THEN 502 WHEN {IS_REFUSED} THEN 400 ELSE 200 END",
    "duration_ms": "5 + n %% 90",
    "api_key": f"CASE WHEN {IS_RARE} THEN '{OLD_KEY}' ELSE %(key)s END",
    "idempotency_key": "CASE WHEN n %% 2 = 1 THEN 'order-' || n END",
    "object_id": f"'pi_' || {AN_ID}",
    "ip": "'203.0.113.7'",
    "api_version": "'2026-11-01'",
    "request_body": "CASE WHEN n %% 2 = 1 THEN json_build_object('amount', n, 'note', repeat('x', 200)) END",  # noqa: E501
    "response_body": f"json_build_object('id', 'pi_' || {AN_ID}, 'note', repeat('y', 400))",
    "truncated": "false",
    "error_code": (
        f"CASE WHEN {IS_RARE} THEN 'acquirer_unavailable'"
        f" WHEN {IS_REFUSED} THEN 'parameter_invalid' END"
    ),
    "created_at": _at(30),
}
EVENTS = {
    "id": f"'evt_' || {AN_ID}",
    "merchant_id": MERCHANT,
    "type": (
        f"CASE WHEN {IS_RARE} THEN 'customer.deleted' WHEN n %% 2 = 0"
        " THEN 'payment_intent.succeeded' ELSE 'payment_intent.created' END"
    ),
    "aggregate_type": f"CASE WHEN {IS_RARE} THEN 'customer' ELSE 'payment_intent' END",
    "aggregate_id": f"CASE WHEN {IS_RARE} THEN 'cus_' ELSE 'pi_' END || {AN_ID}",
    "sequence": "1",
    "request_id": f"'req_' || {AN_ID}",
    "body": (
        "convert_to(jsonb_build_object('object', 'event', 'data', jsonb_build_object('object',"
        f" jsonb_build_object('id', 'pi_' || {AN_ID}, 'amount', n), 'previous_attributes',"
        " jsonb_build_object('amount', 1))"
        ")::text, 'UTF8')"
    ),
    "created_at": _at(30),
}
DELIVERIES = {
    "id": f"'whd_' || {AN_ID}",
    "merchant_id": MERCHANT,
    "endpoint_id": ENDPOINT,
    "event_id": f"'evt_' || {AN_ID}",
    "event_type": EVENTS["type"],
    "url": "'https://acme.example/hooks'",
    "lane_key": f"'pi_' || {AN_ID}",
    "aggregate_id": EVENTS["aggregate_id"],
    "sequence": "1",
    "trigger": "'automatic'",
    "status": f"CASE WHEN {IS_RARE} OR n %% 50 = 3 THEN 'failed' ELSE 'succeeded' END",
    "is_missed": IS_RARE,
    "attempt": f"CASE WHEN {IS_RARE} THEN 10 ELSE 1 END",
    "delay_seconds": "0",
    "scheduled_at": _at(30),
    "attempted_at": _at(30),
    "duration_ms": "20 + n %% 300",
    "response_status": f"CASE WHEN {IS_RARE} OR n %% 50 = 3 THEN 500 ELSE 200 END",
    "error": f"CASE WHEN {IS_RARE} OR n %% 50 = 3 THEN 'http_status' END",
    "created_at": _at(30),
}
TABLES = {
    "intents_paymentintent": PAYMENTS,
    "merchants_requestlog": REQUESTS,
    "events_event": EVENTS,
    "webhooks_delivery": DELIVERIES,
}


def fill(merchant: Merchant, count: int) -> None:
    """Write `count` rows of each kind for a merchant, and a tenth of that for a neighbour.

    The merchant has a key, with which most of its requests came.
    """
    neighbour = merchant_made()
    values: dict[str, Any] = {
        "merchant": merchant.id,
        "neighbour": neighbour.id,
        "key": key_of(merchant),
        "endpoint": _endpoint(merchant),
        "theirs": _endpoint(neighbour),
        "now": clock.now(),
        "total": count * 11 // 10,
        "rare": rare_once_in(count),
    }
    for _ in range(ENDPOINTS_MORE):
        _endpoint(merchant)
    _make_people(merchant)
    with connection.cursor() as cursor, in_bulk.filling(cursor, [*TABLES]):
        for table, columns in TABLES.items():
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608
                f" SELECT {', '.join(columns.values())} FROM generate_series(1, %(total)s) AS n",
                values,
            )
    _dispute_one(merchant)
    _move_money(merchant)
    panel_full.make_full(merchant, str(values["endpoint"]))


def rare_once_in(count: int) -> int:
    """Return of how many rows one has what few have; the first such row is number 7."""
    return max(11, count // RARE_ROWS)


def key_of(merchant: Merchant) -> str:
    """Return the id of the merchant's first key."""
    return merchant.api_keys.order_by("created_at", "id")[0].id


def _make_people(merchant: Merchant) -> None:
    """Make a customer, a colleague of the owner's, and an invitation that is open."""
    now = clock.now()
    email = f"colleague@{merchant.id.lower()}.example"
    owner = Member.objects.filter(merchant=merchant, role=Member.Role.OWNER)[0]
    colleague = User.objects.create_user(email)
    Member.objects.create(
        merchant=merchant, user=colleague, role=Member.Role.SUPPORT, created_at=now
    )
    Invitation.objects.create(
        id=ids.new("inv"),
        merchant=merchant,
        email=f"new-{email}",
        role=Member.Role.FINANCE,
        token_hash=secrets.token_bytes(32),
        invited_by_id=owner.user_id,
        created_at=now,
        expires_at=now + timedelta(days=7),
    )
    Customer.objects.create(
        id=ids.new("cus"), merchant=merchant, email="customer77@example.com", created_at=now
    )


def _move_money(merchant: Merchant) -> None:
    """Make a payout that has failed, a top-up that is waited for, and a settlement of nothing."""
    now = clock.now()
    Payout.objects.create(
        id=ids.new("po"),
        merchant=merchant,
        acquirer_reference=references.new(),
        amount=5000,
        currency="try",
        status="failed",
        failure_code="declined",
        arrival_at=now,
        destination="main",
        request_id=ids.new("req"),
        created_at=now,
        asked_at=now,
        sent_at=now,
        closed_at=now,
    )
    Topup.objects.create(
        id=ids.new("tu"),
        merchant=merchant,
        reference=references.new(),
        amount=5000,
        currency="try",
        expected_at=now,
        request_id=ids.new("req"),
        created_at=now,
    )
    Run.objects.create(
        id=ids.new("run"),
        merchant=merchant,
        currency="try",
        date=now.date(),
        boundary=0,
        amount=0,
        created_at=now,
    )


def _dispute_one(merchant: Merchant) -> None:
    """Let a payment be disputed, the only one here that has a row of its attempt."""
    payment = PaymentIntent.objects.filter(merchant=merchant, status="succeeded").order_by("id")[0]
    now = clock.now()
    attempt = Attempt.objects.create(
        id=ids.new("att"),
        intent=payment,
        merchant=merchant,
        terminal=Terminal.objects.get(name="sandbox"),
        acquirer_reference=references.new(),
        status="succeeded",
        amount=payment.amount,
        captured_minor=payment.amount,
        currency=payment.currency,
        capture_method=payment.capture_method,
        sealed_card=cards.seal(merchant.id, CardData(TEST_CARD, 12, 2040), now=now),
        card=payment.card,
        three_d_secure_requested=payment.three_d_secure_requested,
        request_id=ids.new("req"),
        created_at=payment.created_at,
        asked_at=payment.created_at,
        captured_at=now,
        closed_at=now,
    )
    Dispute.objects.create(
        id=ids.new("dp"),
        merchant=merchant,
        intent=payment,
        attempt=attempt,
        bank_reference=ids.new("dp"),
        amount=payment.amount,
        currency=payment.currency,
        status=DisputeStatus.NEEDS_RESPONSE,
        reason=Reason.FRAUDULENT,
        evidence_due_by=now + timedelta(days=9, hours=1),
        created_at=now,
    )


def _endpoint(merchant: Merchant) -> str:
    row = Endpoint.objects.create(
        id=ids.new("we"),
        merchant=merchant,
        url="https://acme.example/hooks",
        enabled_events=["*"],
        api_version=merchant.api_version,
        created_at=clock.now(),
    )
    return row.id
