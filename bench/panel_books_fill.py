"""A merchant's payments of 90 days, and its movements: many in the last month, more before it.

Past triggers and indexes, on all cores. The sums that jobs keep of the ledger are made at once;
chunk by chunk, as the job makes them, they would take an hour.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max

from bench import (
    in_bulk,
    installation,  # noqa: F401
    panel_fill,
)
from core import clock, local_days
from ledger import accounts
from ledger.models import LedgerEntry
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
KIND = f"""
    CASE WHEN n %% greatest(%(month)s / {MONTH_DAYS}, 1) = 0 THEN 'payout'
        WHEN n %% 20 = 9 THEN 'refund' ELSE 'charge' END
"""
AMOUNT = "1000 + n::bigint * 7919 %% 99000"
FEE = 100
# `OFFSET 0`: PostgreSQL works these out once for a movement, not for each column of its entries.
MADE = f"""
    (SELECT n, kind, made_at, amount, fee,
        (made_at AT TIME ZONE %(zone)s)::date + (kind = 'charge')::int AS available_on
    FROM generate_series(1, %(total)s) AS n,
        LATERAL (SELECT {KIND}, {MADE_AT}) AS timed (kind, made_at),
        LATERAL (SELECT CASE kind WHEN 'charge' THEN {AMOUNT} ELSE -({AMOUNT}) END,
            CASE kind WHEN 'charge' THEN {FEE} ELSE 0 END) AS moved (amount, fee)
    OFFSET 0) AS made
"""  # noqa: S608
MOVEMENTS = f"""
    INSERT INTO ledger_movement (id, merchant_id, kind, type, cause_id, source_id, charge_id,
        currency, amount, surcharge, fee, net, returns_fee, available_on, created_at)
    SELECT {AN_ID.format(prefix="txn")}, %(merchant)s, kind, kind,
        CASE kind WHEN 'payout' THEN 'po' WHEN 'refund' THEN 're' ELSE 'att' END || number,
        CASE kind WHEN 'payout' THEN 'po' WHEN 'refund' THEN 're' ELSE 'pi' END || number,
        CASE kind WHEN 'refund' THEN {AN_ID.format(prefix="att").replace("n::", "(n - 1)::")}
            WHEN 'charge' THEN 'att' || number END, 'try',
        amount, 0, fee, amount - fee, false, available_on, made_at
    FROM {MADE}, LATERAL (SELECT {AN_ID.format(prefix="")}) AS named (number)
"""  # noqa: S608
# So many ids of entries has a movement: three for its own, two for a settlement behind it.
IDS = 5
# A charge is pending. What a refund or a payout takes is available already.
ENTRIES = f"""
    INSERT INTO ledger_entry (id, merchant_id, movement_id, account_id, currency, amount,
        available_on)
    SELECT %(first)s + {IDS} * n::bigint + line.number, %(merchant)s,
        {AN_ID.format(prefix="txn")}, %(merchant)s || '.try.' || line.kind, 'try', line.amount,
        CASE line.kind WHEN 'pending' THEN available_on END
    FROM {MADE}, LATERAL (VALUES
        (1, CASE made.kind WHEN 'charge' THEN 'acquirer' ELSE 'available' END,
            CASE made.kind WHEN 'charge' THEN -made.amount ELSE made.amount END),
        (2, CASE made.kind WHEN 'charge' THEN 'fees' ELSE made.kind || 's' END,
            CASE made.kind WHEN 'charge' THEN fee ELSE -made.amount END),
        (3, 'pending', CASE made.kind WHEN 'charge' THEN made.amount - fee END)
    ) AS line (number, kind, amount)
    WHERE line.amount IS NOT NULL
"""  # noqa: S608
# At each midnight a run settles the charges of the day that is over. Its entries lie behind theirs.
SETTLED = f"""
    WITH runs AS (
        SELECT lpad(to_char(available_on, 'YYYYMMDD'), 23, '0') AS number, available_on AS date,
            sum(net) AS amount,
            %(first)s + {IDS} * right(max(id), 23)::bigint + {IDS - 2} AS boundary,
            available_on::timestamp AT TIME ZONE %(zone)s AS made_at
        FROM ledger_movement
        WHERE merchant_id = %(merchant)s AND kind = 'charge' AND available_on <= %(today)s
        GROUP BY available_on
    ), settled AS (
        INSERT INTO ledger_run (id, merchant_id, currency, date, boundary, amount, created_at)
        SELECT 'run_8' || number, %(merchant)s, 'try', date, boundary, amount, made_at FROM runs
    ), moved AS (
        INSERT INTO ledger_movement (id, merchant_id, kind, cause_id, source_id, currency, amount,
            surcharge, fee, net, returns_fee, available_on, created_at)
        SELECT 'txn_9' || number, %(merchant)s, 'settlement', 'run_8' || number, 'run_8' || number,
            'try', 0, 0, 0, 0, false, date, made_at
        FROM runs
    )
    INSERT INTO ledger_entry (id, merchant_id, movement_id, account_id, currency, amount,
        available_on)
    SELECT boundary + line.number, %(merchant)s, 'txn_9' || runs.number,
        %(merchant)s || '.try.' || kind, 'try', line.amount, line.date
    FROM runs, LATERAL (VALUES (1, 'pending', -runs.amount, runs.date),
        (2, 'available', runs.amount, NULL)) AS line (number, kind, amount, date)
"""  # noqa: S608
# Of the ledger's jobs: all but the newest movements are in sums.
BEHIND = 300
CHECKPOINTS = """
    INSERT INTO ledger_checkpoint (account_id, merchant_id, currency, sum, boundary)
    SELECT account_id, merchant_id, currency, sum(amount), max(id) FROM ledger_entry
    WHERE merchant_id = %(merchant)s AND id <= %(reached)s
    GROUP BY account_id, merchant_id, currency
"""
BOUNDARY = """
    INSERT INTO ledger_boundary (id, reached, next) VALUES (1, %(reached)s, %(reached)s)
    ON CONFLICT (id) DO UPDATE SET reached = EXCLUDED.reached, next = EXCLUDED.next
"""
DAY_SUMS = f"""
    INSERT INTO ledger_daysum (merchant_id, currency, day, type, count, fee, surcharge, available,
        pending, reserved, boundary)
    SELECT %(merchant)s, 'try', (created_at AT TIME ZONE 'UTC')::date, type, count(*), sum(fee), 0,
        coalesce(sum(net) FILTER (WHERE kind <> 'charge'), 0),
        coalesce(sum(net) FILTER (WHERE kind = 'charge'), 0), 0, %(reached)s
    FROM ledger_movement
    WHERE merchant_id = %(merchant)s AND type IS NOT NULL
        AND id <= {AN_ID.format(prefix="txn").replace("n::text", "%(kept)s::text")}
    GROUP BY 3, 4
    UNION ALL
    SELECT %(merchant)s, 'try', (created_at AT TIME ZONE 'UTC')::date, '', 0, 0, 0, sum(amount),
        -sum(amount), 0, %(reached)s
    FROM ledger_run WHERE merchant_id = %(merchant)s AND boundary < %(reached)s
    GROUP BY 3
"""  # noqa: S608
NEXT_ENTRY = """
    SELECT setval(pg_get_serial_sequence('ledger_entry', 'id'), %(first)s + %(ids)s)
"""
# The longest first, for two are filled at a time.
TABLES = ("ledger_entry", "ledger_movement", "intents_paymentintent")


def fill(merchant: Merchant, *, payments: int, month: int, before: int) -> None:
    """Write a merchant's payments, and its movements of the last month and of the years before."""
    accounts.ensure(merchant.id, "try")
    now = clock.now() - timedelta(seconds=1)
    values: dict[str, Any] = {"merchant": merchant.id, "now": now}
    paid = values | {"total": payments, "review": max(10, payments // IN_REVIEW)}
    moved = values | _of_the_ledger(merchant, now, month, before)
    kept = (CHECKPOINTS, DAY_SUMS, BOUNDARY, NEXT_ENTRY)
    with connection.cursor() as cursor, in_bulk.filling(cursor, TABLES):
        ledger = [[(ENTRIES, moved)], [(MOVEMENTS, moved), (SETTLED, moved)]]
        in_bulk.at_once([*ledger, [(_payments(), paid)]])
        in_bulk.at_once([(statement, moved)] for statement in kept)


def _payments() -> str:
    return (
        f"INSERT INTO intents_paymentintent ({', '.join(PAYMENTS)})"  # noqa: S608
        f" SELECT {', '.join(PAYMENTS.values())} FROM generate_series(1, %(total)s) AS n"
    )


def _of_the_ledger(merchant: Merchant, now: datetime, month: int, before: int) -> dict[str, Any]:
    total, first = month + before, LedgerEntry.objects.aggregate(last=Max("id"))["last"] or 0
    kept = max(0, total - BEHIND)
    return {
        "zone": merchant.timezone,
        "today": local_days.of(now, merchant.timezone),
        "total": total,
        "month": month,
        "before": before,
        "first": first,
        "kept": kept,
        # With what settles behind the last movement that is in sums.
        "reached": first + IDS * kept + IDS,
        "ids": IDS * total + IDS,
    }
