"""The checks of balances: each entry is counted again, without checkpoints.

The API shows the sums of the entries; a checkpoint is the sum of the entries up to its boundary;
balance transactions sum to what the merchant has; and the sums per day, behind which a balance
after a movement and a statement are read, are those of the entries in checkpoints.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from django.db.models import Sum

from audit import queries
from audit.findings import Findings
from ledger import balance
from ledger.models import LedgerEntry
from merchants.models import Merchant

# By kind of account and currency, minor units.
Amounts = dict[tuple[str, str], int]

KEPT = "SELECT count(*) FROM ledger_checkpoint"
WRONGLY_KEPT = """
    SELECT format('account %s has %s in its checkpoint, its entries up to %s sum to %s',
                  c.account_id, c.sum, c.boundary, coalesce(counted.sum, 0))
    FROM ledger_checkpoint c
    LEFT JOIN LATERAL (
        SELECT sum(e.amount) FROM ledger_entry e
        WHERE (e.merchant_id, e.account_id) = (c.merchant_id, c.account_id) AND e.id <= c.boundary
    ) counted ON true
    WHERE c.sum <> coalesce(counted.sum, 0)
"""
# Entries up to there are read by no job and by no balance any more.
LEFT_OUT = """
    SELECT format('account %s: its checkpoint ends at %s, and entry %s behind it is not in one',
                  e.account_id, coalesce(c.boundary, 0), min(e.id))
    FROM ledger_entry e
    JOIN ledger_boundary b ON e.id <= b.reached
    LEFT JOIN ledger_checkpoint c ON c.account_id = e.account_id
    WHERE e.id > coalesce(c.boundary, 0)
    GROUP BY e.account_id, c.boundary
"""
DAYS = "SELECT count(*) FROM ledger_daysum"
WRONG_DAYS = """
    SELECT format('merchant %s, %s of %s %s: the sums of the day are %s, its entries make %s',
                  merchant_id, nullif(type, ''), day, currency, kept.sums, counted.sums)
    FROM (
        SELECT merchant_id, currency, day, type,
               ARRAY[count, fee, surcharge, available, pending, reserved] AS sums
        FROM ledger_daysum
    ) AS kept
    FULL JOIN (
        SELECT e.merchant_id, e.currency, (m.created_at AT TIME ZONE 'UTC')::date AS day,
               coalesce(m.type, '') AS type, ARRAY[
                   count(DISTINCT m.id) FILTER (WHERE m.type IS NOT NULL),
                   coalesce(sum(e.amount) FILTER (WHERE a.kind = 'fees'), 0)::bigint,
                   coalesce(sum(e.amount) FILTER (WHERE a.kind = 'surcharge'), 0)::bigint,
                   coalesce(sum(e.amount) FILTER (WHERE a.kind = 'available'), 0)::bigint,
                   coalesce(sum(e.amount) FILTER (WHERE a.kind = 'pending'), 0)::bigint,
                   coalesce(sum(e.amount) FILTER (WHERE a.kind = 'reserved'), 0)::bigint
               ] AS sums
        FROM ledger_entry e
        JOIN ledger_boundary b ON e.id <= b.reached
        JOIN ledger_movement m ON m.id = e.movement_id
        JOIN ledger_account a ON a.id = e.account_id
        GROUP BY e.merchant_id, e.currency, day, coalesce(m.type, '')
    ) AS counted USING (merchant_id, currency, day, type)
    WHERE kept.sums IS DISTINCT FROM counted.sums
"""
HELD = """
    SELECT count(*) FROM (SELECT DISTINCT merchant_id, currency FROM ledger_movement) held
"""
OTHERWISE_CHANGED = """
    SELECT format('the balance transactions of merchant %s sum to %s %s, and %s is pending or'
                  ' available', merchant_id, coalesce(net, 0), currency, coalesce(held, 0))
    FROM (
        SELECT merchant_id, currency, sum(net) AS net
        FROM ledger_movement WHERE type IS NOT NULL GROUP BY merchant_id, currency
    ) transactions
    FULL JOIN (
        SELECT e.merchant_id, e.currency, sum(e.amount) AS held
        FROM ledger_entry e
        JOIN ledger_account a ON a.id = e.account_id AND a.kind IN ('pending', 'available')
        GROUP BY e.merchant_id, e.currency
    ) entries USING (merchant_id, currency)
    WHERE coalesce(net, 0) <> coalesce(held, 0)
"""


def shown() -> Findings:
    """Compare each balance that the API shows with the entries of the merchant's movements."""
    found = Findings("balances are their entries")
    booked = _booked()
    for merchant in Merchant.objects.order_by("id").iterator():
        told, counted = _told(merchant), booked[merchant.id]
        found.looked_at += len(told)
        for place in sorted(told.keys() | counted.keys()):
            if told.get(place, 0) != counted.get(place, 0):
                kind, currency = place
                found.differences.append(
                    f"merchant {merchant.id} is shown {told.get(place, 0)} {currency} {kind},"
                    f" its movements made it {counted.get(place, 0)}"
                )
    return found


def _told(merchant: Merchant) -> Amounts:
    body = balance.shown(merchant)
    return {(kind, row["currency"]): row["amount"] for kind in balance.SHOWN for row in body[kind]}


def _booked() -> defaultdict[str, Amounts]:
    entries = LedgerEntry.objects.filter(account__kind__in=balance.SHOWN)
    place = ("movement__merchant", "account__kind", "currency")
    booked: defaultdict[str, Amounts] = defaultdict(dict)
    for merchant_id, kind, currency, amount in entries.values_list(*place).annotate(Sum("amount")):
        booked[merchant_id][kind, currency] = int(amount)
    return booked


CHECKS: list[Callable[[], Findings]] = [
    shown,
    partial(queries.look, "checkpoints are their entries", KEPT, WRONGLY_KEPT),
    partial(queries.look, "checkpoints leave no entry out", KEPT, LEFT_OUT),
    partial(queries.look, "sums of days are their entries", DAYS, WRONG_DAYS),
    partial(queries.look, "balance transactions sum to balances", HELD, OTHERWISE_CHANGED),
]
