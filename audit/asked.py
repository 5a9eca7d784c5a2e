"""The check of banks that give no statement: they are asked about each attempt of the last days.

One answer is kept of each attempt, so that an older one is known to have been vouched for.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

import acquirers
from acquirers import exchanges, standings
from acquirers.models import BankExchange, Terminal
from acquirers.outcomes import Answer, Finding, OperationKind, Outcome, Standing
from audit import bank
from audit.bank import Ours
from audit.findings import Findings
from core import clock, connections, context
from core.errors import UpstreamUnavailable
from payments.bank.orders import order_of
from payments.intents.models import Attempt, Modification
from payments.intents.states import AttemptStatus, ModificationStatus

OPERATION = BankExchange.Operation.AUDIT_INQUIRY
SILENT = (Answer.UNKNOWN, Answer.PENDING)
CHUNK = 500
# Of the attempts that no bank has vouched for, so many are named.
NAMED = 20
VOUCHED = BankExchange.objects.filter(attempt=OuterRef("pk"), operation=OPERATION)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far back banks are asked, and how fast: they count the inquiries of a customer."""

    window: timedelta = timedelta(days=2)
    per_second: float = 5.0


def check(pace: Pace | None = None) -> Findings:
    """Ask about each attempt within the window, and name older ones without an answer."""
    pace, found = pace or Pace(), Findings("banks without a statement, asked")
    since, contradicted = clock.now() - pace.window, bank.contradicted()
    for terminal in bank.without_statement():
        for attempt in _paced(_asked_of(terminal, since), pace):
            found.looked_at += 1
            if _ask(attempt, found) and attempt.id in contradicted:
                found.agreed.append(attempt.id)
        _note_unvouched(terminal, since, found)
    return found


def _asked_of(terminal: Terminal, since: datetime) -> Iterator[Attempt]:
    rows = Attempt.objects.filter(terminal=terminal, created_at__gte=since)
    awaited = AttemptStatus.REQUIRES_ACTION  # Nothing was charged yet.
    asked = rows.exclude(status=awaited).select_related("terminal", "intent").order_by("id")
    chunk = list(asked[:CHUNK])
    while chunk:
        yield from chunk
        chunk = list(asked.filter(id__gt=chunk[-1].id)[:CHUNK])


def _paced(attempts: Iterator[Attempt], pace: Pace) -> Iterator[Attempt]:
    for attempt in attempts:
        begun = time.monotonic()
        yield attempt
        connections.give_back()
        time.sleep(max(0.0, begun + 1 / pace.per_second - time.monotonic()))


def _ask(attempt: Attempt, found: Findings) -> bool:
    """Return whether the bank and we have the same; note what they have not."""
    standing = _standing(attempt)
    outcome = standings.authorization(standing)
    if outcome.answer is Answer.UNKNOWN:
        found.unknown.append(f"{_named(attempt)}: the bank gave no answer about it")
        return False
    _keep(attempt, outcome)
    # As it is now: it may have changed while the bank was asked.
    ours = bank.ours_of(attempt.acquirer_reference)
    if ours.is_unknown or (outcome.answer is Answer.PENDING and not ours.is_decided):
        found.unknown.append(f"{_named(attempt)}: it is {ours.status}, {_said(outcome)}")
        return False
    if outcome.answer is Answer.PENDING:
        found.decided.append(f"{ours} is {ours.status}; the bank has not decided")
        return False
    if said := _differences(ours, standing, outcome):
        found.differences += said
        found.contradicted[attempt.id] = said[0]
    return not said


def _standing(attempt: Attempt) -> Standing:
    with context.work():  # A time budget for each question.
        try:
            return acquirers.of(attempt).inquire(order_of(attempt))
        except UpstreamUnavailable:
            return Standing(Finding.UNKNOWN)


def _keep(attempt: Attempt, outcome: Outcome) -> None:
    is_kept = BankExchange.objects.filter(attempt_id=attempt.id, operation=OPERATION).exists()
    if outcome.answer not in SILENT and not is_kept:
        exchanges.record(attempt, outcome.exchange, outcome.answer, operation=OPERATION)


def _differences(ours: Ours, standing: Standing, outcome: Outcome) -> list[str]:
    charged = outcome.answer is Answer.APPROVED
    if charged and outcome.captured == 0 and not ours.authorized and _has_lapsed(ours):
        return []
    if charged != (ours.authorized > 0):
        return [f"{ours} is {ours.status}; {_said(outcome)}"]
    if charged and outcome.captured not in (None, ours.captured):
        return [f"{ours} has {ours.captured} captured; {_said(outcome)}"]
    return _refunds(ours, standing)


def _has_lapsed(ours: Ours) -> bool:
    """Return whether the bank's refusal has shown that its hold is over.

    Garanti's history shows the hold for a day longer.
    """
    rows = Modification.objects.filter(attempt_id=ours.attempt_id, answer=Answer.LAPSED.value)
    return rows.filter(status=ModificationStatus.SUCCEEDED).exists()


def _refunds(ours: Ours, standing: Standing) -> list[str]:
    """Compare the sum of the refunds, where the bank lists those of an order."""
    listed = [one for one in standing.operations if one.deed is OperationKind.REFUND]
    amounts = [one.amount for one in listed if one.state is Answer.APPROVED]
    if not listed or None in amounts or ours.is_refunded_late:
        return []
    told, known = sum(filter(None, amounts)), sum(ours.refunds.values())
    return [] if told == known else [f"{ours} has {known} refunded; the bank has {told}"]


def _said(outcome: Outcome) -> str:
    captured = "" if outcome.captured is None else f" with {outcome.captured} captured"
    return f"the bank says {outcome.answer.value}{captured}"


def _note_unvouched(terminal: Terminal, since: datetime, found: Findings) -> None:
    rows = Attempt.objects.filter(~Exists(VOUCHED), terminal=terminal, created_at__lt=since)
    older = rows.exclude(status=AttemptStatus.REQUIRES_ACTION)
    found.unvouched += [_named(one) for one in older.order_by("created_at", "id")[:NAMED]]
    if (count := older.count()) > NAMED:
        found.unvouched.append(f"terminal {terminal}: and {count - NAMED} more")


def _named(attempt: Attempt) -> str:
    return f"terminal {attempt.terminal}: {attempt.id} of {attempt.intent_id}"
