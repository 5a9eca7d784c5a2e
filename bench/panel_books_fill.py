"""A merchant's payments of 90 days, and its movements: many in the last month, more before it.

Past triggers and most indexes. The sums that jobs keep of the ledger are made from the entries at
once; chunk by chunk, as the job makes them, they would take an hour.
"""

from datetime import timedelta
from typing import Any

from django.db import connection

from bench import (
    in_bulk,
    installation,  # noqa: F401
    panel_fill,
)
from core import clock
from ledger import accounts
from merchants.models import Merchant

DAYS, MONTH_DAYS, YEARS_DAYS = 90, 28, 730
# Payments that wait for a person's judgement.
IN_REVIEW = 300
IS_PAID, IS_DECLINED = "n %% 20 < 16", "n %% 20 IN (16, 17)"
AN_ID = "'{prefix}_8' || lpad(n::text, 23, '0')"
PAYMENTS = {
    **panel_fill.PAYMENTS,
    "id": AN_ID.format(prefix="pi"),
    "merchant_id": "%(merchant)s",
    "status": (
        f"CASE WHEN {IS_PAID} THEN 'succeeded' WHEN n %% 20 = 19 THEN 'canceled'"
        " ELSE 'requires_payment_method' END"
    ),
    "currency": "CASE WHEN n %% 17 = 0 THEN 'eur' ELSE 'try' END",
    **dict.fromkeys(
        ("authorized_minor", "captured_minor"),
        f"CASE WHEN {IS_PAID} THEN {panel_fill.AMOUNT} ELSE 0 END",
    ),
    "installments": "CASE WHEN n %% 4 = 0 THEN 1 + n / 4 %% 12 ELSE 1 END",
    "card": (
        """jsonb_build_object('brand', 'visa', 'bin', '424242', 'masked', '424242******4242',"""
        """ 'last4', lpad((n::bigint * 7919 %% 10000)::text, 4, '0'),"""
        """ 'program', CASE WHEN n %% 9 < 8 THEN 'program ' || n %% 9 END,"""
        """ 'issuer', CASE WHEN n %% 31 < 30 THEN 'Bank ' || n %% 31 END,"""
        """ 'exp_month', 12, 'exp_year', 2040, 'card_type', 'credit', 'domestic', n %% 7 <> 0)"""
    ),
    "last_payment_error": (
        f"""CASE WHEN {IS_DECLINED} THEN jsonb_build_object('code', 'card_declined',"""
        """ 'decline_code', (ARRAY['insufficient_funds', 'expired_card', 'do_not_honor',"""
        """ 'limit_exceeded', 'lost_card'])[1 + n / 20 %% 5], 'message', 'No.')"""
        """ WHEN n %% 20 = 18 THEN '{"code": "authentication_abandoned"}'::jsonb END"""
    ),
    "fraud": (
        """CASE WHEN n %% %(review)s = 5 THEN jsonb_build_object('status', 'review',"""
        """ 'rule', NULL, 'risk_level', 'elevated') END"""
    ),
    "created_at": f"%(now)s - interval '{DAYS} days' * ((%(total)s - n) / %(total)s::float8)",
}  # fmt: skip
# The first ones in the years before, the last ones in the month until now.
MADE_AT = f"""
    %(now)s - CASE WHEN n > %(before)s
        THEN interval '{MONTH_DAYS} days' * ((%(total)s - n) / %(month)s::float8)
        ELSE interval '{MONTH_DAYS} days' + interval '{YEARS_DAYS} days'
            * ((%(before)s - n) / greatest(%(before)s, 1)::float8) END
"""
# Every twentieth gives a charge back; and one of a day's is a payout.
IS_PAYOUT = f"n %% greatest(%(month)s / {MONTH_DAYS}, 1) = 0"
SIGN = f"CASE WHEN n %% 20 = 9 OR {IS_PAYOUT} THEN -1 ELSE 1 END"
AMOUNT = f"{SIGN} * (1000 + n::bigint * 7919 %% 99000)"
MOVEMENTS = f"""
    INSERT INTO ledger_movement (id, merchant_id, kind, type, cause_id, source_id, charge_id,
        currency, amount, surcharge, fee, net, returns_fee, available_on, created_at)
    SELECT {AN_ID.format(prefix="txn")}, %(merchant)s, kind, kind,
        prefix || {AN_ID.format(prefix="")}, source || {AN_ID.format(prefix="")},
        CASE WHEN kind <> 'payout' THEN 'att' || {AN_ID.format(prefix="")} END, 'try', amount, 0,
        100, amount - 100, false, (made_at AT TIME ZONE 'UTC')::date + 1, made_at
    FROM generate_series(1, %(total)s) AS n,
        LATERAL (SELECT {AMOUNT}, {MADE_AT}) AS made (amount, made_at),
        LATERAL (SELECT
            CASE WHEN {IS_PAYOUT} THEN 'payout' WHEN amount < 0 THEN 'refund' ELSE 'charge' END,
            CASE WHEN {IS_PAYOUT} THEN 'po' WHEN amount < 0 THEN 're' ELSE 'att' END,
            CASE WHEN {IS_PAYOUT} THEN 'po' WHEN amount < 0 THEN 're' ELSE 'pi' END
        ) AS named (kind, prefix, source)
"""  # noqa: S608
ENTRIES = f"""
    INSERT INTO ledger_entry (merchant_id, movement_id, account_id, currency, amount, available_on)
    SELECT %(merchant)s, {AN_ID.format(prefix="txn")}, %(merchant)s || '.try.' || kind, 'try',
        line.amount, CASE WHEN kind = 'pending' THEN (made_at AT TIME ZONE 'UTC')::date + 1 END
    FROM generate_series(1, %(total)s) AS n,
        LATERAL (SELECT {AMOUNT}, {MADE_AT}) AS made (amount, made_at),
        LATERAL (VALUES (1, 'acquirer', -made.amount), (2, 'fees', 100),
            (3, 'pending', made.amount - 100)) AS line (number, kind, amount)
"""  # noqa: S608
# Of the ledger's jobs: all but the newest entries are in sums.
BEHIND = 1_000
KEPT = [
    """
    INSERT INTO ledger_boundary (id, reached, next)
    SELECT 1, greatest(max(id) - %(behind)s, 0), greatest(max(id) - %(behind)s, 0)
    FROM ledger_entry
    ON CONFLICT (id) DO UPDATE SET reached = EXCLUDED.reached, next = EXCLUDED.next
    """,
    """
    INSERT INTO ledger_checkpoint (account_id, merchant_id, currency, sum, boundary)
    SELECT account_id, entry.merchant_id, currency, sum(amount), max(entry.id)
    FROM ledger_entry AS entry, ledger_boundary AS edge
    WHERE entry.id <= edge.reached AND entry.merchant_id = %(merchant)s
    GROUP BY account_id, entry.merchant_id, currency
    """,
    """
    INSERT INTO ledger_daysum (merchant_id, currency, day, type, count, fee, surcharge, available,
        pending, reserved, boundary)
    SELECT movement.merchant_id, movement.currency, (created_at AT TIME ZONE 'UTC')::date, type,
        count(*) FILTER (WHERE account_id LIKE '%%.fees'),
        sum(entry.amount) FILTER (WHERE account_id LIKE '%%.fees'), 0, 0,
        sum(entry.amount) FILTER (WHERE account_id LIKE '%%.pending'), 0, max(entry.id)
    FROM ledger_movement AS movement JOIN ledger_entry AS entry ON entry.movement_id = movement.id,
        ledger_boundary AS edge
    WHERE movement.merchant_id = %(merchant)s AND entry.id <= edge.reached
    GROUP BY 1, 2, 3, 4
    HAVING count(*) FILTER (WHERE account_id LIKE '%%.fees') > 0
        AND count(*) FILTER (WHERE account_id LIKE '%%.pending') > 0
    """,
]
TABLES = ("intents_paymentintent", "ledger_movement", "ledger_entry")


def fill(merchant: Merchant, *, payments: int, month: int, before: int) -> None:
    """Write a merchant's payments, and its movements of the last month and of the years before."""
    accounts.ensure(merchant.id, "try")
    values: dict[str, Any] = {"merchant": merchant.id, "now": clock.now() - timedelta(seconds=1)}
    paid = values | {"total": payments, "review": max(10, payments // IN_REVIEW)}
    moved = values | {"total": month + before, "month": month, "before": before}
    with connection.cursor() as cursor, in_bulk.filling(cursor, TABLES):
        cursor.execute(
            f"INSERT INTO intents_paymentintent ({', '.join(PAYMENTS)})"  # noqa: S608
            f" SELECT {', '.join(PAYMENTS.values())} FROM generate_series(1, %(total)s) AS n",
            paid,
        )
        for statement in (MOVEMENTS, ENTRIES):
            cursor.execute(statement, moved)
        for statement in KEPT:
            cursor.execute(statement, values | {"behind": BEHIND})
