"""The figures above the list of disputes: the next deadline, held money, won and disputed ones."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils import formats
from django.utils.dateformat import format as written_date
from django.utils.translation import gettext, ngettext

from core import clock, local_days, money
from merchants.models import Member
from panel.merchants import chart_figures, waiting
from panel.merchants.chart_figures import Period
from panel.patience import TookTooLong, limited
from payments.disputes.states import ANSWERABLE, INQUIRY, DisputeStatus
from payments.intents import day_counts
from payments.intents.day_counts import ENDING, Counted

LIMIT_MS = 500
# A dispute is decided within these days, or is not counted.
DECIDED_LATELY = timedelta(days=90)
# Disputes of these days are compared with the payments that were charged in them.
DISPUTED_DAYS = 30
HOLDS = (DisputeStatus.NEEDS_RESPONSE, DisputeStatus.UNDER_REVIEW)

# By the index of merchant and status: open ones are few, and decided ones are bounded by time.
TILES = """
SELECT 'next', currency, amount, evidence_due_by FROM (
    SELECT currency, amount, evidence_due_by FROM disputes_dispute
    WHERE merchant_id = %(merchant)s AND status = ANY(%(answerable)s) AND evidence_due_by > %(now)s
    ORDER BY evidence_due_by, id LIMIT 1
) AS first
UNION ALL
SELECT 'held', currency, sum(amount)::bigint, NULL FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND status = ANY(%(holds)s) GROUP BY currency
UNION ALL
SELECT 'number', NULL, count(*), NULL FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND status = ANY(%(holds)s)
UNION ALL
SELECT status, NULL, count(*), NULL FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND status IN ('won', 'lost') AND closed_at >= %(since)s
GROUP BY status
UNION ALL
SELECT CASE WHEN created_at >= %(begins)s THEN 'disputed' ELSE 'before' END, NULL, count(*), NULL
FROM disputes_dispute
WHERE merchant_id = %(merchant)s AND created_at >= %(begins_before)s
    AND status <> ALL(%(inquiries)s)
GROUP BY 1
"""


class Tile(NamedTuple):
    """One figure: its name, its value, and what it is about.

    :param url: of the list of what it counts, if it leads there.
    :param mark: a sign before `about`, and its colour.
    """

    label: str
    value: str
    about: str
    colour: str = ""
    url: str = ""
    mark: tuple[str, str] = ("", "")


def of(member: Member) -> list[Tile]:
    """Return the figures of a merchant's disputes; none if they are not read in time."""
    now = clock.now()
    values: dict[str, Any] = {
        "merchant": member.merchant_id,
        "answerable": [*ANSWERABLE],
        "holds": [*HOLDS],
        "now": now,
        "since": now - DECIDED_LATELY,
        "inquiries": [*INQUIRY],
    }
    charged = chart_figures.of(member.merchant, DISPUTED_DAYS)
    zone = member.merchant.timezone
    first = day_counts.today(member.merchant) - timedelta(days=DISPUTED_DAYS - 1)
    values["begins"] = local_days.begins(first, zone)
    values["begins_before"] = local_days.begins(first - timedelta(days=DISPUTED_DAYS), zone)
    try:
        with limited(LIMIT_MS), connection.cursor() as cursor:
            cursor.execute(TILES, values)
            found = cursor.fetchall()
    except TookTooLong:
        return []
    shares = [_share(found, charged)] if charged else []
    return [_next(member, found), _held(found), _won(found), *shares]


def _next(member: Member, found: list[Any]) -> Tile:
    label = gettext("Next deadline")
    for kind, currency, amount, until in found:
        if kind == "next":
            now = clock.now()
            at = written_date(local_days.shown(until, member.merchant.timezone), "D j M H:i")
            colour = ("bad", "warn", "")[waiting.level_of(until, now)]
            about = f"{at}, {money.written(amount, currency)}"
            return Tile(label, waiting.left(until, now), about, colour)
    return Tile(label, "–", gettext("no dispute needs an answer"))


def _held(found: list[Any]) -> Tile:
    sums = sorted((code, amount) for kind, code, amount, _until in found if kind == "held")
    number = _count(found, "number")
    about: Any = ngettext(
        "%(number)s dispute; comes back if won", "%(number)s disputes; comes back if won", number
    )
    value = " · ".join(money.written(amount, code) for code, amount in sums)
    return Tile(gettext("Held for disputes"), value or "–", about % {"number": number})


def _won(found: list[Any]) -> Tile:
    won, lost = _count(found, "won"), _count(found, "lost")
    label, decided = gettext("Won of those decided"), won + lost
    if not decided:
        return Tile(label, "–", gettext("none in 90 days"))
    about = gettext("%(won)s of %(decided)s, 90 days") % {"won": won, "decided": decided}
    share = gettext("%(number)s %%") % {"number": round(100 * won / decided)}
    return Tile(label, share, about)


def _share(found: list[Any], charged: Period) -> Tile:
    now = _percent(_count(found, "disputed"), charged.now)
    before = _percent(_count(found, "before"), charged.before)
    about = gettext("%(days)s days; %(share)s before") % {"days": DISPUTED_DAYS, "share": before}
    return Tile(gettext("Disputed payments"), now, about)


def _percent(disputed: int, counted: Sequence[Counted]) -> str:
    """Write how many disputes there are for a hundred payments that were charged."""
    paid = sum(cell.paid for _day, cell in counted if cell.group == ENDING)
    if not paid:
        return "–"
    number = formats.number_format(100 * disputed / paid, decimal_pos=2)
    return gettext("%(number)s %%") % {"number": number}


def _count(found: list[Any], kind: str) -> int:
    return sum(amount for one, _code, amount, _until in found if one == kind)
