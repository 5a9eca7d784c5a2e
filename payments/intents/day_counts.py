"""Counts of a merchant's payments by day: where they ended, why, and by facts of their cards.

A payment counts on the day on which it was made, in the merchant's zone. Days that are over are
kept by a job (`counted_days`); the others, and those with a payment that has changed since, are
counted when they are asked for.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import orjson
from django.db import connection

from core import clock, local_days
from merchants.models import Merchant
from payments.intents.states import PaymentStatus

PAID = (PaymentStatus.SUCCEEDED, PaymentStatus.REQUIRES_CAPTURE)
# Of a refused payment: it waits for another card, or was given up.
REFUSED = (PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.CANCELED)
# The ends of payments. Three of them count against success.
CHARGED, DECLINED, NOT_BACK, BY_RULES = "charged", "declined", "not_back", "by_rules"
NO_CARD, UNDER_WAY = "no_card", "under_way"
ENDINGS = (CHARGED, DECLINED, NOT_BACK, BY_RULES, NO_CARD, UNDER_WAY)
AGAINST = (DECLINED, NOT_BACK, BY_RULES)

COUNTED = """
WITH payment AS MATERIALIZED (
    SELECT currency, (created_at AT TIME ZONE %(zone)s)::date AS day,
        CASE WHEN %(by_hour)s THEN floor(extract(epoch FROM created_at - begins) / 3600)::int
            ELSE 0 END AS hour,
        captured_minor,
        CASE
            WHEN status = ANY(%(paid)s) THEN 'charged'
            WHEN status <> ALL(%(refused)s) AND status <> 'requires_confirmation' THEN 'under_way'
            WHEN status = 'requires_confirmation' OR last_payment_error IS NULL THEN 'no_card'
            WHEN last_payment_error ->> 'code' = 'authentication_abandoned' THEN 'not_back'
            WHEN last_payment_error ->> 'code' = 'fraud_blocked' THEN 'by_rules'
            ELSE 'declined'
        END AS ending,
        last_payment_error ->> 'code' AS code,
        last_payment_error ->> 'decline_code' AS decline,
        card ->> 'program' AS program, card ->> 'issuer' AS issuer, installments::text,
        card ->> 'domestic' AS domestic
    FROM ({spans}) AS of_spans
)
SELECT GROUPING(hour, code, program, issuer, installments, domestic), day, hour, currency,
    ending, code, decline, program, issuer, installments, domestic,
    count(*), sum(captured_minor)::bigint, count(*) FILTER (WHERE ending = 'charged'),
    count(*) FILTER (WHERE ending = ANY(%(against)s))
FROM payment
GROUP BY GROUPING SETS (
    (day, currency, hour, ending), (day, currency, code, decline, ending), (day, currency, program),
    (day, currency, issuer), (day, currency, installments), (day, currency, domestic)
)
"""
# Each span has its bounds as constants: of bounds in a joined table PostgreSQL expects a ninth of
# all payments, and of two such it reads the whole table.
SPAN = """
SELECT currency, created_at, status, captured_minor, last_payment_error, card, installments,
    %(begins_{n})s::timestamptz AS begins
FROM intents_paymentintent
WHERE merchant_id = %(merchant)s AND created_at >= %(begins_{n})s AND created_at < %(ends_{n})s
"""
# By the columns that a row is not grouped by, as `GROUPING` counts them.
ENDING, REASON = "ending", "reason"
GROUPS = {
    0b011111: ENDING, 0b101111: REASON, 0b110111: "program", 0b111011: "issuer",
    0b111101: "installments", 0b111110: "domestic",
}  # fmt: skip
KEPT = """
SELECT merchant.until, late.days, counted.day, counted.cells
FROM intents_countedmerchant AS merchant
CROSS JOIN (
    SELECT array_agg(DISTINCT (created_at AT TIME ZONE %(zone)s)::date) AS days
    FROM intents_latechange WHERE merchant_id = %(merchant)s
) AS late
LEFT JOIN intents_countedday AS counted
    ON counted.merchant_id = merchant.merchant_id AND counted.day BETWEEN %(first)s AND %(last)s
WHERE merchant.merchant_id = %(merchant)s AND merchant.timezone = %(zone)s
"""
Span = tuple[datetime, datetime]


class Cell(NamedTuple):
    """Payments of one currency that were counted together.

    :param group: the fact that they have in common: `ending`, `reason`, `program`, `issuer`,
        `installments` or `domestic`; and `value` which one. A reason is `code` and `decline_code`
        of the declined ones.
    :param charged: in minor units, surcharges included.
    :param paid: those that were charged; `refused` those that count against success.
    :param hour: the hours that had passed since their span's begin, if asked for.
    """

    currency: str
    group: str
    value: Any
    number: int
    charged: int
    paid: int
    refused: int
    hour: int = 0


Counted = tuple[date, Cell]


def of_days(
    merchant: Merchant, days: Sequence[date], *more: Span, facts_from: date = date.min
) -> list[Counted]:
    """Return the counts of whole days of a merchant, in two statements.

    :param days: in their order.
    :param more: spans of other days, which are counted too.
    :param facts_from: of kept days before it only where payments ended: a period before has as many
        cells as the one that is shown.
    """
    kept, missing = _kept(merchant, days)
    wanted = set(days) - missing
    found = [
        (day, Cell(*cell))
        for day in kept
        if day in wanted
        for cell in kept[day]
        if day >= facts_from or cell[1] == ENDING
    ]
    return [*found, *count(merchant, [*spans(sorted(missing), merchant.timezone), *more])]


def count(merchant: Merchant, parts: Sequence[Span], *, by_hour: bool = False) -> list[Counted]:
    """Count a merchant's payments of some spans of time.

    :param by_hour: the hours of each span are counted apart.
    """
    if not parts:
        return []
    values: dict[str, Any] = {
        "merchant": merchant.id,
        "zone": merchant.timezone,
        "by_hour": by_hour,
        "paid": [*PAID],
        "refused": [*REFUSED],
        "against": [*AGAINST],
    }
    for number, (begins, ends) in enumerate(parts):
        values |= {f"begins_{number}": begins, f"ends_{number}": ends}
    of_spans = "UNION ALL".join(SPAN.format(n=number) for number in range(len(parts)))
    with connection.cursor() as cursor:
        cursor.execute(COUNTED.format(spans=of_spans), values)
        rows = cursor.fetchall()
    return [(row[1], cell) for row in rows if (cell := _cell(row))]


def _cell(row: tuple[Any, ...]) -> Cell | None:
    group = GROUPS[row[0]]
    _mask, _day, hour, currency, ending, code, decline, *facts = row
    number, charged, paid, refused = facts[4:]
    if group == ENDING:
        value: Any = ending
    elif group == REASON:
        value = [code or "", decline or ""]
    else:
        value = next((one for one in facts[:4] if one is not None), None)
    if group == REASON and ending != DECLINED:
        return None
    return Cell(currency, group, value, number, charged, paid, refused, hour or 0)


def _kept(merchant: Merchant, days: Sequence[date]) -> tuple[dict[date, list[Any]], set[date]]:
    """Return the cells of days that are kept, and the days that are not, or no longer true."""
    values = {"merchant": merchant.id, "zone": merchant.timezone}
    with connection.cursor() as cursor:
        cursor.execute(KEPT, {**values, "first": days[0], "last": days[-1]})
        rows = cursor.fetchall()
    if not rows:
        return {}, set(days)
    until, late = rows[0][0], set(rows[0][1] or ())
    kept = {day: orjson.loads(cells) for _until, _late, day, cells in rows if day is not None}
    return kept, {day for day in days if day > until or day in late}


def spans(days: Iterable[date], zone: str) -> list[Span]:
    """Return the spans of time of a zone's days; of those that follow each other it is one."""
    found: list[tuple[date, date]] = []
    for day in days:
        after = day + timedelta(days=1)
        if found and found[-1][1] == day:
            found[-1] = (found[-1][0], after)
        else:
            found.append((day, after))
    return [(local_days.begins(one, zone), local_days.begins(end, zone)) for one, end in found]


def today(merchant: Merchant) -> date:
    """Return the day that it is in the merchant's zone."""
    return local_days.of(clock.now(), merchant.timezone)
