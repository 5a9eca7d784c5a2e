"""The parts of a charge: pending money, each part with the date from which a run settles it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from django.db import connection
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from core import rows
from ledger.lines import Line
from ledger.models import Account, LedgerEntry, Movement, Run
from ledger.models.accounts import account_id

LAST_RUN = """
merchant_id = %(merchant)s::text AND currency = %(currency)s::text ORDER BY date DESC LIMIT 1
"""
# In two halves, as a run reads them (`due_parts`): of one condition PostgreSQL may read all days.
OPEN = """
SELECT currency, available_on, sum(amount) FROM (
    SELECT currency, available_on, amount FROM ledger_entry
    WHERE merchant_id = %s AND account_id = %s AND available_on > %s
    UNION ALL
    SELECT currency, available_on, amount FROM (
        SELECT currency, available_on, amount, movement_id FROM ledger_entry
        WHERE merchant_id = %s AND account_id = %s AND id > %s
        OFFSET 0
    ) AS late
    WHERE available_on <= %s AND (
        SELECT kind FROM ledger_movement WHERE ledger_movement.id = late.movement_id
    ) <> 'settlement'
) AS parts GROUP BY currency, available_on
"""
# Asked of each entry by itself: for a join PostgreSQL read the movements of all merchants.
_KIND = Subquery(Movement.objects.filter(pk=OuterRef("movement")).values("kind"))


def split(amount: int, dates: Sequence[date]) -> list[Line]:
    """Divide an amount over dates: the same for each, and the remainder on the first."""
    part, remainder = divmod(amount, len(dates))
    parts = [part + remainder, *[part] * (len(dates) - 1)]
    return [Line(Account.Kind.PENDING, *each) for each in zip(parts, dates, strict=True)]


def last_run(merchant_id: str, currency: str) -> Run | None:
    """Return the newest settlement of a currency; it may change until the account is locked."""
    return rows.find(Run, LAST_RUN, merchant=merchant_id, currency=currency)


def open_entries(merchant_id: str, run: Run | None) -> QuerySet[LedgerEntry]:
    """Return pending entries that no run has settled.

    :param run: the last one of the currency whose entries the caller reads; None before the first.
    """
    pending = LedgerEntry.objects.filter(merchant_id=merchant_id, available_on__isnull=False)
    if run is None:
        return pending
    return pending.filter(Q(available_on__gt=run.date) | Q(id__gt=run.boundary))


def open_parts(merchant_id: str, currency: str, run: Run | None) -> QuerySet[LedgerEntry]:
    """Return the parts of charges of a currency that no run has settled.

    A run itself finds them by `due_parts`.

    :param run: the last one of the currency; None before the first.
    """
    account = account_id(merchant_id, currency, Account.Kind.PENDING)
    is_part = ~Q(of_kind=Movement.Kind.SETTLEMENT)
    if run:  # No settlement has reached a later date: its parts need no look at their movements.
        is_part = Q(available_on__gt=run.date) | is_part
    entries = open_entries(merchant_id, run).filter(account=account)
    return entries.alias(of_kind=_KIND).filter(is_part)


def settled_by(run: Run) -> QuerySet[LedgerEntry]:
    """Return the parts that a run has settled: its amount is their sum."""
    before = Run.objects.filter(
        merchant_id=run.merchant_id, currency=run.currency, date__lt=run.date
    )
    entries = open_parts(run.merchant_id, run.currency, before.order_by("-date").first())
    return entries.filter(available_on__lte=run.date, id__lte=run.boundary)


def latest_runs(merchant_id: str, most: int) -> list[Run]:
    """Return the newest settlements of a merchant, and the last one of each currency.

    :param most: so many, newest first; the last ones of further currencies come on top.
    """
    runs = Run.objects.filter(merchant_id=merchant_id)
    last = runs.order_by("currency", "-date").distinct("currency")
    newest = runs.order_by("-date", "currency")[:most]
    return list(last.union(newest).order_by("-date", "currency"))


def by_date(
    merchant_id: str, currencies: Sequence[str], last: Mapping[str, Run]
) -> dict[str, dict[date, int]]:
    """Return, by currency, on which dates how much of `pending` becomes available, in order.

    What came after the run of its date keeps that date. Amounts are in minor units; a date of which
    nothing is left is not there. One statement for all currencies.

    :param last: by currency, its last run.
    """
    values = [one for each in currencies for one in _open(merchant_id, each, last.get(each))]
    query = " UNION ALL ".join([OPEN] * len(currencies)) + " ORDER BY available_on"
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        sums = cursor.fetchall()
    found: dict[str, dict[date, int]] = {}
    for currency, day, amount in sums:
        if amount:
            found.setdefault(currency, {})[day] = int(amount)
    return found


def _open(merchant_id: str, currency: str, run: Run | None) -> list[str | int | None]:
    """Return the values of `OPEN`; before the first run all parts have a later date."""
    own = [merchant_id, account_id(merchant_id, currency, Account.Kind.PENDING)]
    day, boundary = (str(run.date), run.boundary) if run else ("-infinity", None)
    return [*own, day, *own, boundary, day]


def unsettled(charge: Movement) -> dict[date, int]:
    """Return what is left of a charge's parts, by date; the caller has locked the account."""
    run = last_run(charge.merchant_id, charge.currency)
    entries = open_entries(charge.merchant_id, run).filter(movement__charge_id=charge.charge_id)
    sums = entries.values_list("available_on").annotate(Sum("amount"))
    return {day: int(amount) for day, amount in sums if day}


def take(amount: int, unsettled: Mapping[date, int]) -> list[Line]:
    """Return lines that take an amount from the parts, latest first, and the rest of `available`.

    :param amount: below zero where more fee comes back than money goes: `available` gets it.
    """
    taken: Counter[date] = Counter()
    for day in sorted(unsettled, reverse=True):
        taken[day] = max(0, min(unsettled[day], amount - taken.total()))
    lines = [Line(Account.Kind.PENDING, -part, day) for day, part in taken.items()]
    return [*lines, Line(Account.Kind.AVAILABLE, taken.total() - amount)]
