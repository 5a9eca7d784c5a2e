"""Sums of a merchant's movements: those per day that a job keeps, and the movements behind them.

Each reader asks for the boundary and the sums in one statement, and then for the movements behind
that boundary: nothing can be committed below it any more, so that each counts once.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db import connection

from core import clock
from ledger.lines import BALANCE
from ledger.models import Movement
from ledger.models.accounts import account_id

# All days before the first one that matters are one row.
KEPT = """
SELECT edge.reached, days.currency, days.day, days.net
FROM (SELECT coalesce((SELECT reached FROM ledger_boundary), 0) AS reached) AS edge
LEFT JOIN (
    SELECT currency, greatest(day, %(before)s) AS day, sum(available + pending) AS net
    FROM ledger_daysum
    WHERE merchant_id = %(merchant)s AND currency = ANY (%(currencies)s) AND day < %(last)s
    GROUP BY 1, 2
) AS days ON true
"""
# With the boundary as a constant: of one that is only known while the statement runs, PostgreSQL
# expects a third of the account behind it.
BEHIND = """
SELECT entry.currency, greatest((movement.created_at AT TIME ZONE 'UTC')::date, %(before)s),
    sum(entry.amount)
FROM ledger_entry AS entry JOIN ledger_movement AS movement ON movement.id = entry.movement_id
WHERE entry.merchant_id = %(merchant)s AND entry.account_id = ANY (%(accounts)s)
    AND entry.id > %(reached)s AND movement.created_at < %(last)s
GROUP BY 1, 2
"""
# The steps from one of the rows to the next one; the first one begins at midnight.
BETWEEN = """
SELECT (
    SELECT coalesce(sum(net), 0) FROM ledger_movement
    WHERE merchant_id = %(merchant)s AND currency = %(currency)s AND type IS NOT NULL
        AND (created_at, id) > (step.after_moment, step.after_id)
        AND (created_at, id) <= (step.moment, step.id)
)
FROM unnest(%(after_moments)s::timestamptz[], %(after_ids)s::text[], %(moments)s::timestamptz[],
            %(ids)s::text[]) WITH ORDINALITY AS step(after_moment, after_id, moment, id, number)
ORDER BY step.number
"""
WITHIN = """
SELECT pot.currency, span.number, (
    SELECT coalesce(sum(net), 0) FROM ledger_movement
    WHERE merchant_id = %(merchant)s AND currency = pot.currency AND type IS NOT NULL
        AND created_at >= span.begins AND created_at < span.ends
)
FROM unnest(%(currencies)s::text[]) AS pot (currency)
CROSS JOIN unnest(%(begins)s::timestamptz[], %(ends)s::timestamptz[]) WITH ORDINALITY
    AS span (begins, ends, number)
"""
HALF_A_DAY = timedelta(hours=12)
# A day that has been over for so long gets no more movements: no transaction lasts for 20 minutes.
REST = timedelta(hours=1)
# A movement in the order of all: when it was made, and its id.
Place = tuple[datetime, str]


class Step(NamedTuple):
    """The way to a movement from the one before on the way, or from midnight."""

    last: Place
    place: Place


class BalancesAfter(NamedTuple):
    """By a movement's id the balance once it was made, in minor units.

    :param reached: the last entry in checkpoints. What is above it may still get one before it.
    """

    amounts: dict[str, int]
    reached: int


def balances_after(movements: Iterable[Movement]) -> BalancesAfter:
    """Return what the balance transactions up to each of some sum to, whatever lies between them.

    That is `available` and `pending` together, in the order of instants, then ids. The way to each
    begins at the nearest midnight, and leads over the other ones that lie on it.

    :param movements: of one merchant in one currency.
    """
    rows = sorted(movements, key=_place)
    if not rows:
        return BalancesAfter({}, 0)
    merchant_id, pot = rows[0].merchant_id, rows[0].currency
    running = _day_of(clock.now() - REST)
    days = [_nearest(row.created_at, running) for row in rows]
    reached, before = _before(merchant_id, [pot], days[0], days[-1])
    balances = {
        (_midnight(day), ""): sum(net for of_day, net in before[pot].items() if of_day < day)
        for day in {*days}
    }
    steps = [*_steps(rows, days)]
    for step, net in zip(steps, _nets(merchant_id, pot, steps), strict=True):
        is_later = step.last < step.place
        balances[step.place] = balances[step.last] + (net if is_later else -net)
    return BalancesAfter({row.id: balances[_place(row)] for row in rows}, reached)


def balances_at(
    merchant_id: str, currencies: Sequence[str], moments: Sequence[datetime]
) -> dict[str, list[int]]:
    """Return by currency the sums of all balance transactions before each moment.

    In three statements. Days are kept in UTC: a moment is reached from the midnight nearest to it.

    :param moments: in their order, at least one.
    """
    days = [_day_of(moment + HALF_A_DAY) for moment in moments]
    _reached, before = _before(merchant_id, currencies, days[0], days[-1])
    changes = _changes(merchant_id, currencies, moments, [_midnight(day) for day in days])
    return {
        currency: [
            sum(net for of_day, net in before[currency].items() if of_day < day) + change
            for day, change in zip(days, changes[currency], strict=True)
        ]
        for currency in currencies
    }


def _changes(
    merchant_id: str,
    currencies: Sequence[str],
    moments: Sequence[datetime],
    midnights: Sequence[datetime],
) -> dict[str, list[int]]:
    """Return by currency how the balance changed from each midnight to its moment."""
    spans = [*zip(midnights, moments, strict=True)]
    values = {
        "merchant": merchant_id,
        "currencies": [*currencies],
        "begins": [min(span) for span in spans],
        "ends": [max(span) for span in spans],
    }
    found = {currency: [0] * len(spans) for currency in currencies}
    for currency, number, net in _rows(WITHIN, values):
        midnight, moment = spans[number - 1]
        found[currency][number - 1] = int(net) if midnight <= moment else -int(net)
    return found


def _place(row: Movement) -> Place:
    return row.created_at, row.id


def _day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def _before(
    merchant_id: str, currencies: Sequence[str], first: date, last: date
) -> tuple[int, dict[str, dict[date, int]]]:
    """Return the boundary, and by currency and day the sums of what came before the last day."""
    pots = {"merchant": merchant_id, "currencies": [*currencies]}
    values = pots | {"before": first - timedelta(days=1)}
    kept = _rows(KEPT, values | {"last": last})
    reached: int = kept[0][0]
    accounts = [account_id(merchant_id, one, kind) for one in currencies for kind in BALANCE]
    behind = {"accounts": accounts, "reached": reached, "last": _midnight(last)}
    found: dict[str, dict[date, int]] = {currency: {} for currency in currencies}
    for currency, day, net in [*(one[1:] for one in kept), *_rows(BEHIND, values | behind)]:
        if day is not None:
            found[currency][day] = found[currency].get(day, 0) + int(net)
    return reached, found


def _nearest(moment: datetime, running: date) -> date:
    """Return the day whose midnight is nearest; in the running day, or later, the day's own.

    More movements may come before the midnight that ends the running day.
    """
    return min(_day_of(moment + HALF_A_DAY), max(_day_of(moment), running))


def _steps(rows: Sequence[Movement], days: Sequence[date]) -> Iterator[Step]:
    """Yield the steps from each midnight to the rows after it, and back to those before it."""
    for day in sorted({*days}):
        places = [_place(row) for row, of_row in zip(rows, days, strict=True) if of_row == day]
        midnight = (_midnight(day), "")
        later = [place for place in places if place > midnight]
        earlier = [place for place in reversed(places) if place < midnight]
        for way in (later, earlier):
            yield from map(Step, [midnight, *way], way)


def _nets(merchant_id: str, currency: str, steps: Sequence[Step]) -> list[int]:
    """Return what the movements between the two places of each step sum to."""
    ends = [sorted(step) for step in steps]
    values = {
        "merchant": merchant_id,
        "currency": currency,
        "after_moments": [moment for (moment, _id), _until in ends],
        "after_ids": [row_id for (_moment, row_id), _until in ends],
        "moments": [moment for _after, (moment, _id) in ends],
        "ids": [row_id for _after, (_moment, row_id) in ends],
    }
    return [int(net) for (net,) in _rows(BETWEEN, values)]


def _rows(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
