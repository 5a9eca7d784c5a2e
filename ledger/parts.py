"""The parts of a charge: pending money, each part with the date from which a run settles it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from django.db.models import Q, QuerySet, Sum

from ledger.lines import Line
from ledger.models import Account, Entry, Movement, Run


def split(amount: int, dates: Sequence[date]) -> list[Line]:
    """Divide an amount over dates: the same for each, and the remainder on the first."""
    part, remainder = divmod(amount, len(dates))
    parts = [part + remainder, *[part] * (len(dates) - 1)]
    return [Line(Account.Kind.PENDING, *each) for each in zip(parts, dates, strict=True)]


def last_run(merchant_id: str, currency: str) -> Run | None:
    """Return the newest settlement of a currency; it may change until the account is locked."""
    runs = Run.objects.filter(merchant_id=merchant_id, currency=currency)
    return runs.order_by("-date").first()


def open_entries(merchant_id: str, run: Run | None) -> QuerySet[Entry]:
    """Return pending entries that no run has settled.

    :param run: the last one of the currency whose entries the caller reads; None before the first.
    """
    pending = Entry.objects.filter(merchant_id=merchant_id, available_on__isnull=False)
    if run is None:
        return pending
    return pending.filter(Q(available_on__gt=run.date) | Q(id__gt=run.boundary))


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
