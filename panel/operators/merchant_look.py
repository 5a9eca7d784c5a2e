"""A merchant at one look: its money of a week, balance, limits, open work, access and last changes.

The week is today with the six days before it, in the merchant's zone. It is compared with the seven
days before, up to the same moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import OuterRef, Subquery

from core import clock, local_days, money
from ledger import balance as balances
from ledger import calendar
from merchants import payout_schedules
from merchants.models import AuditEntry, Merchant, PayoutSchedule
from panel.merchants import chart_figures
from panel.patience import TookTooLong, limited
from payments.intents.models import NonSecureDay
from payouts import schedule as payout_days

DAYS = 7
ROWS_SHOWN = 8
# The next day of a schedule is looked for so far ahead: a month, and its holidays.
DAYS_AHEAD = 45

# By what, currency and week: the sum and the number; none of these is refused.
FIGURES = """
SELECT 'refund' AS what, currency, created_at >= %(since)s AS is_now, sum(amount)::bigint,
    count(*), 0
FROM refunds_refund
WHERE merchant_id = %(merchant)s AND created_at >= %(before)s
    AND status IN ('pending', 'succeeded')
    AND (created_at >= %(since)s OR created_at <= %(cut)s)
GROUP BY 2, 3
UNION ALL
SELECT 'dispute', currency, created_at >= %(since)s, sum(amount)::bigint, count(*), 0
FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND created_at >= %(before)s
    AND (created_at >= %(since)s OR created_at <= %(cut)s)
GROUP BY 2, 3
"""
ACCESS = """
SELECT
    (SELECT count(*) FROM webhooks_endpoint
     WHERE merchant_id = %(merchant)s AND deleted_at IS NULL AND status = 'enabled'),
    (SELECT count(*) FROM webhooks_endpoint
     WHERE merchant_id = %(merchant)s AND deleted_at IS NULL AND status = 'failing'),
    (SELECT count(*) FROM webhooks_endpoint
     WHERE merchant_id = %(merchant)s AND deleted_at IS NULL AND status = 'disabled'),
    (SELECT count(*) FROM merchants_apikey WHERE merchant_id = %(merchant)s
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())),
    (SELECT max(last_used_at) FROM merchants_apikey WHERE merchant_id = %(merchant)s),
    (SELECT count(*) FROM merchants_member WHERE merchant_id = %(merchant)s)
"""


class Compared(NamedTuple):
    """A figure of the week, as people read it, and the one of the week before.

    :param change: in whole percent; None if there was nothing before.
    """

    label: str
    now: str
    before: str
    change: int | None
    number: int | None = None


class CurrencyLook(NamedTuple):
    """A merchant's money in one currency, as people read it."""

    code: str
    figures: Sequence[Compared]
    available: str
    pending: str
    reserved: str
    is_owed: bool
    limit_used: str


class Access(NamedTuple):
    """Endpoints by state, keys that work, the last use of one, and people."""

    enabled: int
    failing: int
    disabled: int
    keys: int
    used_at: Any
    people: int


@dataclass(frozen=True, slots=True)
class MerchantLook:
    """All of it.

    :param currencies: None if the figures took too long.
    :param next_payout: the next day of the schedule, of the merchant's own.
    """

    currencies: Sequence[CurrencyLook] | None
    schedule: PayoutSchedule
    next_payout: date | None
    access: Access
    changes: Sequence[AuditEntry]


def of(merchant: Merchant) -> MerchantLook:
    """Return a merchant at one look, as it is now."""
    today = local_days.of(clock.now(), merchant.timezone)
    terms = payout_schedules.of(merchant)
    try:
        with limited():
            currencies: list[CurrencyLook] | None = _currencies(merchant, today)
    except TookTooLong:
        currencies = None
    changes = AuditEntry.objects.filter(chain=f"merchant:{merchant.id}").order_by("-sequence")
    return MerchantLook(
        currencies, terms, _next_payout(merchant, terms, today), _access(merchant),
        list(changes[:ROWS_SHOWN]),
    )  # fmt: skip


def _currencies(merchant: Merchant, today: date) -> list[CurrencyLook]:
    found, held = _figures(merchant, today), balances.shown(merchant)
    used = _limits_used(merchant, today)
    amounts = {
        kind: {row["currency"]: row["amount"] for row in held[kind]}
        for kind in ("available", "pending", "reserved")
    }
    codes = sorted({*amounts["available"], *(currency for _what, currency, _is_now in found)})
    return [
        CurrencyLook(
            code,
            [*_compared(found, code)],
            available=money.written(amounts["available"].get(code, 0), code),
            pending=money.written(amounts["pending"].get(code, 0), code),
            reserved=money.written(amounts["reserved"].get(code, 0), code),
            is_owed=amounts["available"].get(code, 0) < 0,
            limit_used=used.get(code, ""),
        )
        for code in codes
    ]


Found = dict[tuple[str, str, bool], tuple[int, int, int]]


def _figures(merchant: Merchant, today: date) -> Found:
    since = local_days.begins(today - timedelta(days=DAYS - 1), merchant.timezone)
    values: dict[str, Any] = {
        "merchant": merchant.id,
        "since": since,
        "before": local_days.begins(today - timedelta(days=2 * DAYS - 1), merchant.timezone),
        "cut": clock.now() - timedelta(days=DAYS),
    }
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, values)
        rows = cursor.fetchall()
    found: Found = {(what, code, is_now): (*numbers,) for what, code, is_now, *numbers in rows}
    payments = chart_figures.read(merchant, DAYS)
    for code in payments.currencies:
        own = payments.of(code)
        for is_now, whole in ((True, own.whole), (False, own.whole_before)):
            found["payment", code, is_now] = (whole.charged, whole.paid, whole.refused)
    return found


def _compared(found: Found, code: str) -> Sequence[Compared]:
    nothing = (0, 0, 0)
    sums = []
    for what, label in (("payment", "Charged"), ("refund", "Refunds"), ("dispute", "Disputes")):
        now, before = (found.get((what, code, is_now), nothing) for is_now in (True, False))
        change = round((now[0] - before[0]) * 100 / before[0]) if before[0] else None
        charged, charged_before = money.written(now[0], code), money.written(before[0], code)
        sums.append(Compared(label, charged, charged_before, change, now[1]))
    now, before = (found.get(("payment", code, is_now), nothing) for is_now in (True, False))
    return [sums[0], Compared("Success", _rate(now), _rate(before), None), *sums[1:]]


def _rate(payments: tuple[int, int, int]) -> str:
    _charged, paid, refused = payments
    return f"{paid * 1000 // (paid + refused) / 10} %" if paid + refused else "–"


def _limits_used(merchant: Merchant, today: date) -> dict[str, str]:
    """Return by currency how much of the day's limit without 3-D Secure is used."""
    days = NonSecureDay.objects.filter(
        merchant=OuterRef("merchant"), currency=OuterRef("currency"), day=today
    )
    limits = merchant.non_secure_limits.annotate(taken=Subquery(days.values("taken")))
    return {
        limit.currency: f"{money.written(limit.taken or 0, limit.currency)}"
        f" of {money.written(limit.per_day, limit.currency)}"
        for limit in limits
        if limit.per_day is not None
    }


def _next_payout(merchant: Merchant, terms: PayoutSchedule, today: date) -> date | None:
    if terms.interval == PayoutSchedule.Interval.MANUAL or not merchant.payouts_enabled:
        return None
    holidays = calendar.of(merchant.country)
    days = (today + timedelta(days=ahead) for ahead in range(1, DAYS_AHEAD))
    return next((day for day in days if payout_days.is_due(terms, day, holidays)), None)


def _access(merchant: Merchant) -> Access:
    with connection.cursor() as cursor:
        cursor.execute(ACCESS, {"merchant": merchant.id})
        return Access(*cursor.fetchone())
