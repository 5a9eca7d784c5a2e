"""The refunds and disputes that were made in a period of the overview, by currency."""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from typing import NamedTuple

from django.db import connection

from core import local_days
from merchants.models import Merchant
from panel.kept_figures import KeptFigures
from panel.merchants.figures import LIMIT_MS
from payments.disputes.states import INQUIRY, DisputeStatus
from payments.intents import day_counts
from payments.refunds.states import RefundStatus

# A refund that has failed or was called off gave nothing back, and an inquiry takes no money.
GIVEN_BACK = (RefundStatus.PENDING, RefundStatus.SUCCEEDED)
DISPUTED = tuple(status for status in DisputeStatus if status not in INQUIRY)

# By the index of merchant and status, in the order of the lists.
COUNTED = """
SELECT 'refunds', currency, count(*), sum(amount)::bigint FROM refunds_refund
WHERE merchant_id = %(merchant)s AND status = ANY(%(given_back)s) AND created_at >= %(begins)s
GROUP BY currency
UNION ALL
SELECT 'disputes', currency, count(*), sum(amount)::bigint FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND status = ANY(%(disputed)s) AND created_at >= %(begins)s
GROUP BY currency
"""


class Sum(NamedTuple):
    """Refunds, or disputes, of one currency; `amount` in minor units."""

    number: int = 0
    amount: int = 0


class MoneyBack(NamedTuple):
    """Money that cardholders got back in a period, and what they disputed, by currency."""

    refunds: Mapping[str, Sum]
    disputes: Mapping[str, Sum]


_kept = KeptFigures[MoneyBack]()
forget = _kept.forget


def of(merchant: Merchant, days: int) -> MoneyBack | None:
    """Return a period's refunds and disputes, a minute old at most; None if they take too long."""
    first = day_counts.today(merchant) - timedelta(days=days - 1)
    return _kept.of((merchant.id, first), partial(read, merchant, first), limit_ms=LIMIT_MS)


def read(merchant: Merchant, first: date) -> MoneyBack:
    """Add up all since the beginning of a day of the merchant's, in one statement."""
    values = {
        "merchant": merchant.id,
        "begins": local_days.begins(first, merchant.timezone),
        "given_back": [*GIVEN_BACK],
        "disputed": [*DISPUTED],
    }
    found: dict[str, dict[str, Sum]] = {"refunds": {}, "disputes": {}}
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, values)
        for kind, currency, number, amount in cursor.fetchall():
            found[kind][currency] = Sum(number, amount)
    return MoneyBack(**found)
