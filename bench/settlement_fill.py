"""Very many merchants with money that is due today, filled in past triggers and most indexes."""

from typing import Any

from django.db import connection

from bench import in_bulk
from ledger.models import Account
from merchants.models import Merchant

TABLES = ("merchants_merchant", "ledger_account", "ledger_movement", "ledger_entry")
# A merchant's number: its place among those of the same name.
MERCHANT = "'mer_{name}' || lpad(n::text, 8, '0')"
TODAY = "(now() AT TIME ZONE 'Europe/Istanbul')::date"
MERCHANTS = """
    INSERT INTO merchants_merchant ({columns}) SELECT {values}
    FROM (SELECT * FROM merchants_merchant WHERE id = %(like)s) AS one,
        generate_series(1, %(count)s) AS n
"""
ACCOUNTS = """
    INSERT INTO ledger_account (id, merchant_id, currency, kind)
    SELECT {merchant} || '.try.' || kind, {merchant}, 'try', kind
    FROM generate_series(1, %(count)s) AS n, unnest(%(kinds)s::text[]) AS kind
"""
# Each charge is one part, captured yesterday and due today; the charges of merchants take turns.
MOVEMENTS = """
    INSERT INTO ledger_movement (id, merchant_id, kind, type, cause_id, source_id, charge_id,
        currency, amount, surcharge, fee, net, returns_fee, available_on, created_at)
    SELECT 'txn_{name}' || part, {merchant}, 'charge', 'charge', 'att_{name}' || part,
        'pi_{name}' || part, 'att_{name}' || part, 'try', 4000, 0, 0, 4000, false, {today}, now()
    FROM generate_series(1, %(each)s) AS turn, generate_series(1, %(count)s) AS n,
        LATERAL (SELECT lpad(n::text, 8, '0') || '_' || turn) AS made (part)
"""
ENTRIES = """
    INSERT INTO ledger_entry (merchant_id, movement_id, account_id, currency, amount, available_on)
    SELECT {merchant}, 'txn_{name}' || part, {merchant} || '.try.' || kind, 'try', amount, due_on
    FROM generate_series(1, %(each)s) AS turn, generate_series(1, %(count)s) AS n,
        LATERAL (SELECT lpad(n::text, 8, '0') || '_' || turn) AS made (part),
        (VALUES ('acquirer', -4000, NULL), ('pending', 4000, {today}))
            AS line (kind, amount, due_on)
    ORDER BY turn, n
"""


def fill(name: str, count: int, each: int, *, like: str) -> None:
    """Make merchants, each with so many parts that are due today.

    :param name: the beginning of their ids.
    :param like: the merchant that they are copies of.
    """
    given: dict[str, Any] = {
        "count": count,
        "each": each,
        "like": like,
        "kinds": Account.Kind.values,
    }
    made = {"name": name, "merchant": MERCHANT.format(name=name), "today": TODAY}
    with connection.cursor() as cursor, in_bulk.filling(cursor, TABLES):
        cursor.execute(_merchants(made["merchant"]), given)
        for statement in (ACCOUNTS, MOVEMENTS, ENTRIES):
            cursor.execute(statement.format(**made), given)


def _merchants(merchant: str) -> str:
    values: dict[str, Any] = {
        str(field.column): str(field.column) for field in Merchant._meta.concrete_fields
    }
    values["id"] = merchant
    return MERCHANTS.format(columns=", ".join(values), values=", ".join(values.values()))
